// One section a model: its policy, its pools against their limits, its replicas.
import { Chart } from './chart.js';
import { el, number, seconds, text } from './dom.js';
import { Learned } from './learned.js';
import { Replicas } from './replicas.js';

class Pool {
  constructor(role) {
    this.inflight = el('strong', { 'data-field': 'inflight' });
    this.limit = el('span', { 'data-field': 'limit' });
    this.outside = el('span', { 'data-field': 'outside' });
    this.state = el('span', { class: 'badge' });
    this.tokens = el('dd', { 'data-field': 'tokens' });
    this.ttft = el('dd', { 'data-field': 'ttft' });
    this.ready = el('dd', { 'data-field': 'ready' });
    this.load = new Chart('in flight, against the limit', 'load');
    this.speed = new Chart('tokens a second', 'speed');
    this.replicas = new Replicas();
    this.element = el(
      'article', { class: `pool ${role}`, 'data-pool': role },
      el('h3', {}, `${role[0].toUpperCase()}${role.slice(1)} pool`, this.state),
      el('p', { class: 'big' }, this.inflight, ' / ', this.limit, el('small', {}, ' in flight / limit', this.outside)),
      this.load.element,
      el(
        'dl', {},
        el('div', {}, el('dt', {}, 'tokens a second'), this.tokens),
        el('div', {}, el('dt', {}, 'TTFT, median'), this.ttft),
        el('div', {}, el('dt', {}, 'replicas ready'), this.ready),
      ),
      this.speed.element,
      this.replicas.element,
    );
  }

  show(pool, series) {
    const last = series.at(-1);
    text(this.inflight, String(pool.inflight));
    text(this.limit, String(pool.limit));
    text(this.ready, `${pool.ready} of ${pool.replicas.length}`);
    const smooth = series.slice(-5).map((it) => it.tokens);
    text(this.tokens, last ? number(smooth.reduce((sum, it) => sum + it, 0) / smooth.length) : '–');
    text(this.ttft, last ? seconds(last.ttft) : '–');
    const down = pool.ready === 0;
    // What came past the gateway fills a pool as well.
    text(this.outside, pool.outside ? `, and ${pool.outside} past the gateway` : '');
    const full = !down && pool.inflight + pool.outside >= pool.limit;
    text(this.state, down ? 'down' : full ? 'at its limit' : 'has room');
    this.state.dataset.state = down ? 'bad' : full ? 'warn' : 'good';
    this.load.show(series.map((it) => [it.at, it.inflight, it.limit]));
    this.speed.show(series.map((it, index) => {
      const some = series.slice(Math.max(0, index - 2), index + 1);
      return [it.at, some.reduce((sum, one) => sum + one.tokens, 0) / some.length, null];
    }));
    this.replicas.show(pool.replicas, down ? 0 : pool.limit / pool.ready);
  }
}

class Model {
  constructor(name) {
    this.name = el('h2', {}, name);
    this.policy = el('p', { class: 'policy' });
    this.pools = new Map();
    this.grid = el('div', { class: 'pools' });
    this.learned = new Learned();
    const parts = [this.name, this.policy, this.learned.element, this.grid];
    this.element = el('section', { class: 'model', 'data-model': name }, ...parts);
  }

  show(model, samples) {
    text(this.policy, describe(model));
    this.learned.show(model.adaptive);
    for (const [role, pool] of Object.entries(model.pools)) {
      if (!this.pools.has(role)) {
        this.pools.set(role, new Pool(role));
        this.grid.append(this.pools.get(role).element);
      }
      const series = samples
        .filter((sample) => sample.models[model.name]?.pools[role])
        .map((sample) => ({ at: sample.at, ...sample.models[model.name].pools[role] }));
      this.pools.get(role).show(pool, series);
    }
    for (const [role, pool] of this.pools) {
      if (role in model.pools) continue;
      pool.element.remove();
      this.pools.delete(role);
    }
  }
}

function describe(model) {
  const policy = model.policy;
  const parts = [`policy ${policy.kind}`];
  if (policy.mode) parts.push(`mode ${policy.mode}`);
  if (policy.threshold) parts.push(`threshold ${policy.threshold}`);
  if (policy.pool) parts.push(`pool ${policy.pool}`);
  if (policy.high) parts.push('high: new requests go to the baseline pool');
  parts.push(model.queued ? `${model.queued} waiting in the queue` : 'nobody waits');
  if (model.gateways > 1) parts.push(`${model.gateways} gateways, counted by ${model.source}`);
  return parts.join(' · ');
}

export class Models {
  constructor(element) {
    this.element = element;
    this.known = new Map();
  }

  show(status, samples) {
    const names = new Set(status.models.map((model) => model.name));
    for (const [name, model] of this.known) {
      if (names.has(name)) continue;
      model.element.remove();
      this.known.delete(name);
    }
    for (const model of status.models) {
      if (!this.known.has(model.name)) {
        this.known.set(model.name, new Model(model.name));
        this.element.append(this.known.get(model.name).element);
      }
      this.known.get(model.name).show(model, samples);
    }
  }
}
