// The whole request in a strip, with the part that is shown as a window whose two ends are sliders.
import { el, setVars, targetOf } from './dom.js';
import { duration } from './format.js';

const most = 300; // bars; the longest
const lines = 14; // that bars are on

/**
 * minimap shows the rows of a request, and changes the axis.
 * @param {Data.requestDetail} request
 * @param {import('./axis.js').Axis} axis
 */
export function minimap(request, axis) {
  const { total } = axis;
  const all = request.rows ?? [];
  const rows = [...all].sort((a, b) => b.took - a.took).slice(0, most);
  const line = new Map(all.map((row, i) => [row, (i % lines) / lines]));
  const strip = el('div', { class: 'strip', 'aria-hidden': 'true' }, rows.map((row) => el('span', {
    class: row.failed ? 'bad' : '', data: { kind: row.kind },
    vars: { at: Math.max(0, row.start / total), width: Math.min(1, (row.start + row.took) / total) - Math.max(0, row.start / total), line: line.get(row) },
  })));
  const ends = [end('from', 'Start of the part that is shown'), end('to', 'End of the part that is shown')];
  const pane = el('div', { class: 'pane' });
  const node = el('div', { class: 'minimap', id: 'minimap', role: 'group', 'aria-label': 'The whole request' },
    strip, el('div', { class: 'rest before' }), el('div', { class: 'rest after' }), pane, ends);

  /**
   * @param {'from' | 'to'} side
   * @param {string} label
   */
  function end(side, label) {
    return el('div', {
      class: `end ${side}`, role: 'slider', tabindex: 0, 'aria-label': label, 'aria-orientation': 'horizontal', data: { side },
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
        const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
        const to = { Home: side === 'from' ? 0 : axis.from, End: side === 'from' ? axis.to : total }[event.key] ?? (step && axis[side] + (step * total) / 100);
        if (to === undefined) return;
        event.preventDefault();
        move(side, to);
      },
    });
  }

  /**
   * move moves an end, which stays on its side of the other one.
   * @param {'from' | 'to'} side
   * @param {number} at
   */
  function move(side, at) {
    const least = total / 1000;
    if (side === 'from') axis.set(Math.min(Math.max(0, at), axis.to - Math.min(least, axis.length)), axis.to);
    else axis.set(axis.from, Math.max(Math.min(total, at), axis.from + Math.min(least, axis.length)));
  }

  /** @type {{ side: 'from' | 'to' } | { by: number } | null} */
  let held = null; // what a pointer drags: a side, or the distance of the pointer from the start of the pane
  const time = (/** @type {PointerEvent} */ event) => {
    const { left, width } = strip.getBoundingClientRect();
    return ((event.clientX - left) / Math.max(1, width)) * total;
  };
  node.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    const at = time(event);
    const side = /** @type {'from' | 'to' | undefined} */ (targetOf(event).dataset.side);
    if (!side && (at < axis.from || at > axis.to)) axis.set(at - axis.length / 2, at + axis.length / 2);
    held = side ? { side } : { by: at - axis.from };
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener('pointermove', (event) => {
    if (!held) return;
    if ('side' in held) move(held.side, time(event));
    else {
      const from = Math.min(total - axis.length, Math.max(0, time(event) - held.by));
      axis.set(from, from + axis.length);
    }
  });
  for (const type of ['pointerup', 'pointercancel']) node.addEventListener(type, () => { held = null; });
  node.addEventListener('dblclick', () => axis.reset());

  function draw() {
    setVars(node, { start: axis.from / total, end: axis.to / total });
    ends.forEach((slider) => {
      const side = /** @type {'from' | 'to'} */ (slider.dataset.side);
      slider.setAttribute('aria-valuemin', String(side === 'from' ? 0 : axis.from));
      slider.setAttribute('aria-valuemax', String(side === 'from' ? axis.to : total));
      slider.setAttribute('aria-valuenow', String(axis[side]));
      slider.setAttribute('aria-valuetext', duration(axis[side]));
    });
    node.classList.toggle('whole', axis.whole);
  }
  axis.listen(draw);
  draw();
  return node;
}
