// The replicas of a pool: a cell each, and in words those that are in trouble, or all while they are few.
import { el, host } from './dom.js';

const FEW = 6;
const MOST_WORDS = 8;

export class Replicas {
  constructor() {
    this.cells = el('div', { class: 'cells' });
    this.words = el('ul', { class: 'words' });
    this.element = el('div', { class: 'replicas' }, this.cells, this.words);
  }

  // limit: of one replica; where there is none, the busiest fills its bar.
  show(replicas, limit) {
    const most = limit > 0 ? limit : Math.max(1, ...replicas.map((replica) => replica.inflight));
    this.cells.hidden = replicas.length <= FEW;
    this.cells.replaceChildren(...(this.cells.hidden ? [] : replicas.map((replica) => cell(replica, most))));
    const troubled = replicas.filter((replica) => replica.state !== 'ready');
    const told = replicas.length <= FEW ? replicas : troubled.slice(0, MOST_WORDS);
    this.words.replaceChildren(...told.map((replica) => line(replica, most)));
    if (replicas.length > FEW && troubled.length > told.length) {
      this.words.append(el('li', { class: 'more' }, `and ${troubled.length - told.length} more in trouble`));
    }
  }
}

function cell(replica, most) {
  const words = `${host(replica.url)}: ${replica.inflight} in flight, ${replica.state}`;
  const made = el('i', { 'data-state': replica.state, title: replica.error ? `${words}, ${replica.error}` : words });
  made.style.setProperty('--load', String(Math.min(1, replica.inflight / most)));
  return made;
}

function line(replica, most) {
  const bar = el('progress', { max: String(most), value: String(replica.inflight), 'aria-label': 'requests in flight' });
  const state = replica.error ? `${replica.state}: ${replica.error}` : replica.state;
  return el(
    'li', { 'data-state': replica.state },
    el('span', { class: 'host' }, host(replica.url)),
    bar,
    el('b', {}, String(replica.inflight)),
    el('span', { class: 'state' }, state),
  );
}
