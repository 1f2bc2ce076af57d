// What the policy adaptive has learned: how fast a request is in each pool, by the requests that its replica holds.
import { el, number, svg, text } from './dom.js';

const WIDTH = 300;
const HEIGHT = 100;
const ROLES = ['speculative', 'baseline'];

export class Learned {
  constructor() {
    this.lines = Object.fromEntries(ROLES.map((role) => [role, svg('path', { class: `line ${role}` })]));
    this.crossover = svg('path', { class: 'limit' });
    this.title = svg('title');
    this.top = el('span', { class: 'top' });
    this.far = el('span', { class: 'far' });
    this.words = el('p', { class: 'policy', 'data-field': 'learned' });
    const drawing = svg(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' },
      this.title, ...Object.values(this.lines), this.crossover,
    );
    this.drawn = el(
      'figure', { class: 'chart curves' },
      el('figcaption', {}, 'learned: tokens a second of a request, by the requests on its replica'),
      this.top, drawing, this.far,
    );
    this.element = el('div', {}, this.words, this.drawn);
  }

  show(adaptive) {
    this.element.hidden = !adaptive;
    if (!adaptive) return;
    text(this.words, describe(adaptive));
    const points = ROLES.flatMap((role) => adaptive.pools[role].curve);
    this.drawn.hidden = !points.length;
    if (!points.length) return;
    const most = Math.max(1, ...points.map(({ rate }) => rate));
    const furthest = Math.max(2, ...points.map(({ inflight }) => inflight));
    // Each doubling is as wide: few requests matter as much as many.
    const x = (inflight) => ((WIDTH * Math.log2(inflight)) / Math.log2(furthest)).toFixed(1);
    const y = (rate) => (HEIGHT * (1 - rate / (most * 1.15))).toFixed(1);
    for (const role of ROLES) {
      const curve = adaptive.pools[role].curve;
      const path = curve.map(({ inflight, rate }, at) => `${at ? 'L' : 'M'}${x(inflight)} ${y(rate)}`).join('');
      this.lines[role].setAttribute('d', path);
    }
    const at = adaptive.crossover;
    const seen = at !== null && at <= furthest;
    this.crossover.setAttribute('d', seen ? `M${x(at)} 0L${x(at)} ${HEIGHT}` : '');
    text(this.top, number(most));
    text(this.far, `1 to ${furthest} requests`);
    const told = ROLES.map((role) => `${role} ${adaptive.pools[role].curve.map((it) => `${it.inflight}: ${number(it.rate)}`).join(', ')}`);
    this.title.textContent = told.join('; ');
  }
}

function describe(adaptive) {
  const parts = [adaptive.mode === null ? 'nothing decided yet' : `decided the last by: ${adaptive.mode.replaceAll('_', ' ')}`];
  const expected = ROLES.map((role) => adaptive.pools[role].expected);
  if (expected.every((rate) => rate !== null)) parts.push(`expected of it: ${expected.map(number).join(' and ')} tokens a second`);
  parts.push(adaptive.crossover === null ? 'no crossover known' : `crossover at ${adaptive.crossover} on a replica`);
  parts.push(`learned from ${ROLES.map((role) => adaptive.pools[role].requests).join(' and ')} requests`);
  return parts.join(' · ');
}
