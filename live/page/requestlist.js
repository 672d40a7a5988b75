// A list of requests. It stands still while somebody points at it, has the focus in it or selects text: what moves
// cannot be hit.
import { bdi, arrows, el, reconcile, setText, setVars } from './dom.js';
import { clock, duration, iso, plural } from './format.js';

/**
 * inUse reports whether somebody points at an element, has the focus in it, or selects text in it.
 * @param {HTMLElement} node
 */
export function inUse(node) {
  const selection = getSelection();
  return node.matches(':hover') || node.contains(document.activeElement) ||
    (selection !== null && !selection.isCollapsed && node.contains(selection.anchorNode));
}

/**
 * onFree calls a function when somebody may have stopped to use an element.
 * @param {HTMLElement} node
 * @param {() => void} free
 */
export function onFree(node, free) {
  node.addEventListener('pointerleave', free);
  node.addEventListener('focusout', () => setTimeout(free)); // when the focus has arrived elsewhere
}

/**
 * requestList makes a list. Its update shows rows, or without rows the text that none returns.
 * @param {string} id
 * @param {string} title
 * @param {() => string} none
 */
export function requestList(id, title, none) {
  const body = el('tbody');
  const empty = el('p', { class: 'muted', hidden: true });
  const table = el('table', { class: 'requests' },
    el('thead', {}, el('tr', {},
      el('th', { scope: 'col' }, 'Request'), el('th', { scope: 'col' }, 'Status'), el('th', { scope: 'col' }, 'Took'),
      el('th', { scope: 'col', class: 'wide' }, 'Began'), el('th', { scope: 'col', class: 'wide' }, 'Trace'))),
    body);
  arrows(body, 'a');
  const waits = el('span', { class: 'held muted', hidden: true });
  const section = el('section', { 'aria-labelledby': `${id}-title`, id, tabindex: '-1' },
    el('div', { class: 'title' }, el('h2', { id: `${id}-title` }, title), waits), table, empty);
  let seen = ''; // the question that the list answers
  return {
    section,
    onFree: (/** @type {() => void} */ free) => onFree(body, free),
    /** @param {Data.keptRow[]} rows */
    update(rows, question = '') {
      const still = question === seen && inUse(body);
      const newer = still ? rows.filter((r) => !body.querySelector(`[data-key="${r.trace}${r.span}"]`)).length : 0;
      waits.hidden = newer === 0;
      setText(waits, `${plural(newer, 'other')} since: the list waits for you`);
      if (still) return;
      seen = question;
      const most = Math.max(...rows.map((r) => r.took), Number.MIN_VALUE);
      reconcile(body, rows, (r) => r.trace + r.span, makeRequest, (node, r) => setVars(node, { share: r.took / most }));
      table.hidden = rows.length === 0;
      empty.hidden = rows.length > 0;
      setText(empty, none());
    },
  };
}

/** @param {Data.keptRow} r */
function makeRequest(r) {
  return el('tr', { class: r.failed ? 'failed' : '', data: { trace: r.trace, span: r.span } },
    el('th', { scope: 'row', class: 'name' }, el('a', { href: `#/requests/${r.trace}/${r.span}`, title: r.name }, bdi(r.name))),
    el('td', { class: 'status' }, r.failed ? el('span', { class: 'badge bad' }, r.status || 'error') : r.status || '', reason(r)),
    el('td', { class: 'took' }, el('span', { class: 'meter', 'aria-hidden': 'true' }), duration(r.took)),
    el('td', { class: 'wide num' }, el('time', { datetime: iso(r.start), title: iso(r.start) }, clock(r.start))),
    el('td', { class: 'wide id', title: r.trace }, r.trace.slice(0, 8)));
}

/**
 * reason is why a request was kept, unless its row shows that already.
 * @param {Data.keptRow} r
 */
function reason(r) {
  return r.reason && r.reason !== 'failed' ? el('span', { class: 'badge', title: 'why it is kept' }, r.reason.replace('_', ' ')) : '';
}
