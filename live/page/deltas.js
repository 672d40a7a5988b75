// Tables of differences between two requests: of spans, waits and functions, the largest difference first.
import { bdi, el, off } from './dom.js';
import { count, duration, plural } from './format.js';
import { fn } from './segments.js';

const most = 25; // rows that a table has before a click

/** @param {number} x */
export const signed = (x) => (Math.abs(x) < 1e-6 ? 'the same' : `${x > 0 ? '+' : '−'}${duration(Math.abs(x))}`);

/**
 * spanTable has the spans by their difference on the critical path.
 * @param {Data.comparison} c
 */
export function spanTable(c) {
  const all = c.order.map((i) => c.spans[i]);
  const largest = Math.max(...all.map((d) => Math.abs(d.a.critical - d.b.critical)));
  return section('spans', 'Spans on the critical path', [
    el('p', { class: 'muted' }, 'The time in which a span determined how long the request took. The differences add up to the difference of the durations.'),
    table('spans', 'Spans, the largest difference on the critical path first', ['Span', 'Difference', 'Path A', 'Path B', ['Total, A − B', 'wide'], ['Count A | B', 'wide']], all, (d) => [
      [el('span', { class: 'muted' }, above(c, d)), bdi(d.name), only(d)], delta(d.a.critical - d.b.critical, largest),
      d.a.count ? duration(d.a.critical) : '', d.b.count ? duration(d.b.critical) : '', signed(d.a.total - d.b.total), `${count(d.a.count)} | ${count(d.b.count)}`,
    ]),
  ]);
}

/**
 * above is the names of the spans above, without the request's.
 * @param {Data.comparison} c
 * @param {Data.spanDifference} d
 */
function above(c, d) {
  const names = [];
  for (let at = d.parent; at > 0; at = c.spans[at].parent) {
    if (names.length === 3) {
      names.unshift('…', ' › ');
      break;
    }
    names.unshift(bdi(c.spans[at].name), ' › ');
  }
  return names;
}

/** @param {Data.spanDifference} d */
const only = (d) => (d.a.count && d.b.count ? null : [' ', el('span', { class: 'badge' }, d.a.count ? 'only in A' : 'only in B')]);

/**
 * waitTable has the states of goroutines that the durations were spent in.
 * @param {Data.comparison} c
 */
export function waitTable(c) {
  const missing = without(c, (r) => !r.waits);
  if (missing === 'neither A nor B') {
    return section('waits', 'Waits', [el('p', { class: 'muted' }, `A has no result: ${c.a.no_waits}. B has no result: ${c.b.no_waits}. `,
      el('a', { href: '#/waits' }, 'Arm the waits recorder'), ' for the next slow one.')]);
  }
  return section('waits', 'Waits', [
    missing ? el('p', { class: 'muted' }, `${missing} has a result. The other one has none: ${c.a.no_waits || c.b.no_waits}.`) : null,
    sides(c, 'waits', 'State', c.waits, (r) => r.waits, (d) => [
      el('span', { class: 'swatch part', data: { class: d.class }, 'aria-hidden': 'true' }), d.kind,
    ]),
  ]);
}

/**
 * functionTable has the functions that ran in samples of the requests.
 * @param {Data.comparison} c
 */
export function functionTable(c) {
  const missing = without(c, (r) => !r.samples);
  if (c.otherEngine) return section('functions', 'Functions', [el('p', { class: 'muted' }, 'The samples of one side are of CPU time, and of the other of wall-clock time: they cannot be compared.')]);
  if (missing === 'neither A nor B') {
    return section('functions', 'Functions', [el('p', { class: 'muted' }, 'No session has samples of A or B. ',
      el('a', { href: `#/sessions?${new URLSearchParams({ route: c.a.name })}` }, 'Record the next ones'), ' of this route.')]);
  }
  return section('functions', 'Functions', [
    el('p', { class: 'muted' }, missing ? `${missing} has samples. ` : '', `${plural(c.a.samples, 'sample')} of A, ${plural(c.b.samples, 'sample')} of B.`),
    sides(c, 'functions', 'Function', c.functions, (r) => r.samples > 0, (d) => [fn(d.name), d.waits ? ' waits' : '', d.file ? el('span', { class: 'muted wide' }, ` ${d.file.slice(d.file.lastIndexOf('/') + 1)}${d.line ? `:${d.line}` : ''}`) : '']),
    c.functionsCut ? el('p', { class: 'muted' }, `Not listed: ${plural(c.functionsCut, 'function')} with a smaller difference.`) : null,
  ]);
}

/**
 * without names the side that has something, if not both do.
 * @param {Data.comparison} c
 * @param {(r: Data.comparedRequest) => boolean} lacks
 */
export function without(c, lacks) {
  if (!lacks(c.a) && !lacks(c.b)) return '';
  if (lacks(c.a) && lacks(c.b)) return 'neither A nor B';
  return lacks(c.a) ? 'Only B' : 'Only A';
}

/**
 * sides is a table of things that have one time on each side; has reports whether a side is known.
 * @template {{ a: number, b: number }} D
 * @param {Data.comparison} c
 * @param {string} id
 * @param {string} head
 * @param {D[]} all
 * @param {(r: Data.comparedRequest) => boolean} has
 * @param {(d: D) => unknown} name
 */
function sides(c, id, head, all, has, name) {
  const both = has(c.a) && has(c.b);
  const largest = Math.max(...all.map((d) => Math.abs(d.a - d.b)));
  return table(id, `${head}s, the largest difference first`, [head, 'Difference', 'A', 'B'], all, (d) => [
    name(d), both ? delta(d.a - d.b, largest) : '', has(c.a) ? duration(d.a) : 'unknown', has(c.b) ? duration(d.b) : 'unknown',
  ]);
}

/**
 * barOf is the place of a difference in the bar that the largest one fills to its side.
 * @param {number} x
 * @param {number} largest
 */
export function barOf(x, largest) {
  const width = largest > 0 ? Math.abs(x) / largest / 2 : 0;
  return { at: x > 0 ? 0.5 : 0.5 - width, width };
}

/**
 * @param {number} x
 * @param {number} largest
 */
function delta(x, largest) {
  return [el('span', { class: 'delta', 'aria-hidden': 'true' }, el('span', { class: x > 0 ? 'longer' : 'shorter', vars: barOf(x, largest) })), ' ', el('span', { class: 'signed' }, signed(x))];
}

/**
 * @param {string} id
 * @param {string} title
 * @param {unknown[]} children
 */
function section(id, title, children) {
  return el('section', { 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, title), children.flat());
}

/**
 * table has a row for each thing; cells returns the contents. A head may have a class. Most rows are
 * hidden before a click.
 * @template T
 * @param {string} id
 * @param {string} caption
 * @param {(string | string[])[]} heads
 * @param {T[]} all
 * @param {(d: T) => unknown[]} cells
 */
function table(id, caption, heads, all, cells) {
  const classes = heads.map((h, i) => (i === 0 ? 'name' : `num ${Array.isArray(h) ? h[1] : ''}${i === 1 ? 'difference' : ''}`.trim()));
  const rows = all.map((d, i) => el('tr', { hidden: i >= most }, cells(d).map((cell, k) =>
    el(k === 0 ? 'th' : 'td', { class: classes[k], scope: k === 0 ? 'row' : null }, [cell].flat(2)))));
  const button = el('button', { type: 'button', id: `${id}-more`, hidden: all.length <= most, onclick: () => {
    for (const row of rows) row.hidden = false;
    rows[most].tabIndex = -1;
    off(button, 'hidden', true, rows[most]);
  } }, `Show all ${count(all.length)}`);
  return [el('table', { class: 'deltas', id },
    el('caption', { class: 'sr' }, caption),
    el('thead', {}, el('tr', {}, heads.map((h, i) => el('th', { scope: 'col', class: classes[i] }, Array.isArray(h) ? h[0] : h)))),
    el('tbody', {}, rows)), button];
}
