// Elements and numbers. Text goes in as text, never as HTML: names come from configurations and clients.
const SVG = 'http://www.w3.org/2000/svg';

export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

export function number(value) {
  if (value >= 10000) return `${(value / 1000).toFixed(1)}k`;
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1);
}

export function seconds(value) {
  if (value === null || value === undefined) return '–';
  if (value < 0.0995) return `${(value * 1000).toFixed(value < 0.00995 ? 1 : 0)} ms`;
  return value < 10 ? `${value.toFixed(2)} s` : `${value.toFixed(1)} s`;
}

export function host(url) {
  return url.replace(/^https?:\/\//, '').replace(/\/$/, '');
}
