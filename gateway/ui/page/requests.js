// The last decisions: a strip of their pools, and a table with the reasons.
import { el, number, seconds, text } from './dom.js';

const ROWS = 15;

export function showRequests(requests) {
  document.getElementById('none').hidden = requests.length > 0;
  document.getElementById('strip').replaceChildren(...[...requests].reverse().map(tick));
  const body = document.getElementById('requests');
  const rows = requests.slice(0, ROWS);
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((request, index) => fill(body.rows[index] ?? body.appendChild(row()), request));
}

function tick(request) {
  return el('i', { class: request.pool, title: `${request.pool}: ${request.reason}` });
}

function row() {
  const classes = ['', 'wide', '', '', 'wide', 'wide num', '', 'num', 'num narrow-off', 'num wide'];
  return el('tr', {}, ...classes.map((name) => el('td', { class: name })));
}

function fill(line, request) {
  const speed = request.tokens > 1 && request.ttft !== null ? (request.tokens - 1) / (request.duration - request.ttft) : null;
  const values = [
    new Date(request.at * 1000).toLocaleTimeString([], { hour12: false }),
    request.model,
    request.pool,
    request.reason.replaceAll('_', ' '),
    request.replica,
    request.concurrency ? String(request.concurrency) : '–',
    outcome(request),
    seconds(request.ttft),
    request.tokens === null ? '–' : String(request.tokens),
    speed !== null && Number.isFinite(speed) ? number(speed) : '–',
  ];
  values.forEach((value, index) => text(line.cells[index], value));
  line.cells[2].className = `pool-name ${request.pool}`;
  line.dataset.state = request.ended === null ? 'running' : good(request) ? 'good' : 'bad';
}

function good(request) {
  return request.ended === 'finished' && request.status < 500;
}

function outcome(request) {
  if (request.ended === null) return `running, ${seconds(request.duration)}`;
  const retried = request.retries ? `, ${request.retries} retried` : '';
  if (request.ended === 'finished') return `${request.status} in ${seconds(request.duration)}${retried}`;
  return `${request.ended.replaceAll('_', ' ')}, ${request.status}${retried}`;
}
