// Zoom and pan of an axis, by mouse, touch and keys.
import { el, setVars, targetOf } from './dom.js';

const click = 4; // pixels: a pointer that moves less does not drag
const wheel = 1 / 400; // of a factor e, for each pixel of the wheel

/**
 * zoomable has root zoom and pan an axis. lanes is the element whose width is the axis. A drag in it selects a time,
 * and a drag in other elements of the class lane pans. Signal ends it.
 * @param {HTMLElement} root
 * @param {HTMLElement} lanes
 * @param {import('./axis.js').Axis} axis
 * @param {AbortSignal} signal
 */
export function zoomable(root, lanes, axis, signal) {
  const shade = el('span', { class: 'shade', hidden: true, 'aria-hidden': 'true' });
  const head = /** @type {HTMLElement} */ (lanes.closest('th'));
  head.append(shade);
  /** @type {Map<number, number>} */
  const pointers = new Map(); // their places, of the pointers that are down in a lane
  /** @type {{ x: number, last: number, selects: boolean } | null} */
  let drag = null;
  let moved = false; // since the pointer went down

  const part = (/** @type {number} */ x) => {
    const { left, width } = lanes.getBoundingClientRect();
    return Math.min(1, Math.max(0, (x - left) / Math.max(1, width)));
  };
  const time = (/** @type {number} */ x) => axis.from + part(x) * axis.length;
  const pixels = (/** @type {number} */ x) => x / Math.max(1, lanes.clientWidth);

  root.addEventListener('wheel', (event) => {
    if (!targetOf(event).closest('.lane')) return;
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY); // some systems turn the wheel by themselves when Shift is down
    const across = sideways ? event.deltaX : event.deltaY;
    if (event.ctrlKey || event.metaKey) axis.zoom(Math.exp(event.deltaY * wheel), time(event.clientX));
    else if (!axis.whole && (event.shiftKey || sideways)) axis.pan(pixels(across));
    else return;
    event.preventDefault();
  }, { passive: false });

  root.addEventListener('pointerdown', (event) => {
    moved = false;
    const target = targetOf(event);
    if (event.button !== 0 || !target.closest('.lane') || target.closest('a, button, input')) return;
    pointers.set(event.pointerId, event.clientX);
    drag = pointers.size > 1 ? null : { x: event.clientX, last: event.clientX, selects: head.contains(target) && !event.shiftKey };
  });
  addEventListener('pointermove', (event) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return;
    if (pointers.size === 2) pinch(event);
    else if (drag && (moved || Math.abs(event.clientX - drag.x) > click)) {
      moved = true;
      if (drag.selects) select(drag.x, event.clientX);
      else axis.pan(pixels(drag.last - event.clientX));
      drag.last = event.clientX;
    }
    pointers.set(event.pointerId, event.clientX);
  }, { signal });

  /** @param {PointerEvent} event */
  function pinch(event) {
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
    const before = Math.abs((pointers.get(event.pointerId) ?? other) - other);
    const now = Math.abs(event.clientX - other);
    moved = true;
    if (before > click && now > click) axis.zoom(before / now, time((event.clientX + other) / 2));
  }

  /**
   * @param {number} a
   * @param {number} b
   */
  function select(a, b) {
    shade.hidden = false;
    setVars(shade, { at: Math.min(part(a), part(b)), width: Math.abs(part(a) - part(b)) });
  }

  /** @param {PointerEvent} event */
  function up(event) {
    if (!pointers.delete(event.pointerId)) return;
    if (drag?.selects && moved && event.type === 'pointerup') axis.set(time(Math.min(drag.x, event.clientX)), time(Math.max(drag.x, event.clientX)));
    shade.hidden = true;
    drag = null;
    setTimeout(() => { moved = false; }); // after the click that may follow
  }
  addEventListener('pointerup', up, { signal });
  addEventListener('pointercancel', up, { signal });
  root.addEventListener('click', (event) => { // the end of a drag chooses nothing
    if (moved) event.stopPropagation();
  }, true);
  // Not dblclick: none comes if finer parts of the bar arrive while the button is down.
  root.addEventListener('mousedown', (event) => {
    const target = targetOf(event);
    if (event.detail === 2 && target.closest('.lane') && !target.closest('[role=treeitem]')) axis.reset();
  });

  root.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || targetOf(event).matches('input')) return;
    const act = {
      '+': () => axis.zoom(1 / 1.5), '=': () => axis.zoom(1 / 1.5), w: () => axis.zoom(1 / 1.5),
      '-': () => axis.zoom(1.5), _: () => axis.zoom(1.5), s: () => axis.zoom(1.5),
      a: () => axis.pan(-0.2), d: () => axis.pan(0.2), 0: () => axis.reset(),
    }[event.key] || (event.shiftKey && { ArrowLeft: () => axis.pan(-0.2), ArrowRight: () => axis.pan(0.2) }[event.key]);
    if (!act) return;
    event.preventDefault();
    act();
  });
}
