// What one can do with the waterfall: zoom, the critical path, search.
import { el, setText } from './dom.js';
import { duration } from './format.js';
import { timeOf } from './rows.js';

/**
 * toolbar changes the axis of a graph. more are other nodes in it.
 * @param {import('./waterfall.js').Waterfall} graph
 * @param {import('./axis.js').Axis} axis
 * @param {HTMLElement[]} more
 */
export function toolbar(graph, axis, more) {
  const button = (/** @type {string} */ id, /** @type {string} */ text, /** @type {string} */ label, /** @type {string} */ keys, /** @type {() => void} */ act) => el('button', { type: 'button', id, 'aria-label': label, title: keys ? `${label} (${keys})` : label, onclick: act }, text);
  const less = button('zoom-out', '−', 'Zoom out', '− or s', () => axis.zoom(1.5));
  const whole = button('zoom-whole', 'Whole', 'Show the whole request', '0 or a double click', () => axis.reset());
  const part = el('output', { id: 'part', class: 'part-shown', 'aria-label': 'The part that is shown' });
  const path = el('button', { type: 'button', id: 'path-toggle', 'aria-pressed': 'true', title: 'The spans that determined the duration', onclick: () => {
    const on = path.getAttribute('aria-pressed') !== 'true';
    path.setAttribute('aria-pressed', String(on));
    graph.node.classList.toggle('paths', on);
  } }, el('span', { class: 'swatch critical', 'aria-hidden': 'true' }), 'Critical path');

  const zoomToRow = () => {
    if (!graph.chosen) return;
    const { start, took } = timeOf(graph.chosen);
    const margin = Math.max(took / 20, took ? 0 : axis.total / 40);
    axis.set(start - margin, start + took + margin);
  };

  let timer = 0;
  const say = () => setText(part, axis.whole ? duration(axis.total) : `${duration(axis.from)} – ${duration(axis.to)} of ${duration(axis.total)}`);
  axis.listen(() => {
    clearTimeout(timer);
    timer = setTimeout(say, 150); // a screen reader has the last one
  });
  say();
  return el('div', { class: 'tools', role: 'group', 'aria-label': 'Waterfall' },
    el('div', { class: 'zooms' },
      button('zoom-in', '+', 'Zoom in', '+ or w', () => axis.zoom(1 / 1.5)), less, whole,
      button('zoom-row', 'Selected', 'Zoom to the selected row', '', zoomToRow)),
    part, path, el('div', { class: 'finds' }, more),
    el('details', { class: 'keys' }, el('summary', { title: 'Keys and gestures' }, 'Keys'), el('ul', {}, [
      'Drag on the axis: zoom to a part. Drag on bars: pan.',
      'Ctrl or ⌘ with the wheel, or a pinch: zoom. Shift with the wheel: pan. Double click: the whole request.',
      '+ − or w s: zoom. a d or Shift with ← →: pan. 0: the whole request.',
      '↑ ↓: rows. ← →: close and open a row. , and .: the waits of the selected row.',
    ].map((text) => el('li', {}, text)))));
}
