// Connects to the gateway and hands what comes to the views. Reads /status once and the event stream, nothing else.
import { Models } from './models.js';
import { showRequests } from './requests.js';

const KEPT = 300;
const RETRY_MS = 2000;
const SILENT_MS = 5000;

const models = new Models(document.getElementById('models'));
let samples = [];
let heard = 0;

function say(state, text) {
  const link = document.getElementById('link');
  link.dataset.state = state;
  link.textContent = text;
}

function showFacts(status) {
  const facts = [`version ${status.version}`];
  if (status.gateway) facts.push(`gateway ${status.gateway}`);
  if (status.redis) facts.push(`Redis ${status.redis.state}`);
  document.getElementById('facts').textContent = facts.join(' · ');
}

function show({ sample, status, requests }) {
  if (sample && sample.at !== samples.at(-1)?.at) samples.push(sample);
  samples = samples.slice(-KEPT);
  showFacts(status);
  models.show(status, samples);
  showRequests(requests);
  if (status.draining) say('bad', 'draining');
  else say('good', 'live');
}

function listen() {
  const stream = new EventSource('ui/events');
  stream.addEventListener('history', (event) => {
    samples = JSON.parse(event.data);
  });
  stream.addEventListener('now', (event) => {
    heard = Date.now();
    show(JSON.parse(event.data));
  });
  stream.addEventListener('error', () => {
    say('bad', 'no answer');
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, RETRY_MS);
  });
}

async function begin() {
  try {
    const status = await (await fetch('status')).json();
    showFacts(status);
    models.show(status, samples);
  } catch {
    say('bad', 'no answer');
  }
  listen();
}

setInterval(() => {
  if (heard && Date.now() - heard > SILENT_MS) say('bad', 'no answer');
}, 1000);
begin();
