// A moving chart of one number over the last minutes, with its limit as a dashed line.
import { number, svg } from './dom.js';

const WIDTH = 300;
const HEIGHT = 100;
const SPANS = [60, 300]; // seconds: a new gateway has little to show

export class Chart {
  constructor(name, kind) {
    this.area = svg('path', { class: 'area' });
    this.line = svg('path', { class: 'line' });
    this.limit = svg('path', { class: 'limit' });
    this.title = svg('title');
    this.top = document.createElement('span');
    this.top.className = 'top';
    this.name = name;
    const drawing = svg(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' },
      this.title, this.area, this.line, this.limit,
    );
    this.element = document.createElement('figure');
    this.element.className = `chart ${kind}`;
    const caption = document.createElement('figcaption');
    caption.textContent = name;
    this.element.append(caption, this.top, drawing);
  }

  // points: [seconds, value, limit or null], oldest first.
  show(points) {
    if (!points.length) return;
    const now = points.at(-1)[0];
    const span = Math.min(Math.max(now - points[0][0], SPANS[0]), SPANS[1]);
    const seen = points.filter(([at]) => now - at <= span);
    const most = Math.max(1, ...seen.map(([, value, limit]) => Math.max(value, limit ?? 0)));
    const ceiling = most * 1.15;
    const x = (at) => (WIDTH * (1 - (now - at) / span)).toFixed(1);
    const y = (value) => (HEIGHT * (1 - value / ceiling)).toFixed(1);
    const path = seen.map(([at, value], index) => `${index ? 'L' : 'M'}${x(at)} ${y(value)}`).join('');
    this.line.setAttribute('d', path);
    this.area.setAttribute('d', `${path}L${x(now)} ${HEIGHT}L${x(seen[0][0])} ${HEIGHT}Z`);
    const limits = seen.filter(([, , limit]) => limit !== null);
    this.limit.setAttribute('d', limits.map(([at, , limit], index) => `${index ? 'L' : 'M'}${x(at)} ${y(limit)}`).join(''));
    this.top.textContent = number(most);
    this.title.textContent = `${this.name}: ${number(seen.at(-1)[1])} now, at most ${number(most)}`;
  }
}
