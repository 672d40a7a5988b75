// The goroutines that worked for a request, and what each of them did.
import { bdi, el } from './dom.js';
import { count, duration, plural } from './format.js';
import { fn, party, parts, stack } from './segments.js';

const mostIntervals = 500; // of a goroutine in its table

/**
 * goroutines lists those of a request and what an execution trace says that they did.
 * @param {Data.requestDetail} r
 * @param {Data.waitsDetail} waits
 */
export function goroutines(r, waits) {
  const total = Math.max(r.took, 1e-6);
  const names = new Map((r.rows ?? []).map((row) => [row.id, row.name]));
  const stacks = (waits.stacks || []).map((indices) => indices.map((i) => (waits.frames || [])[i]));
  return el('section', { 'aria-labelledby': 'goroutines-title', id: 'goroutines' },
    el('h2', { id: 'goroutines-title' }, 'What it waited for'),
    waits.causes?.length ? causes(waits.causes) : null,
    waits.dropped ? el('p', { class: 'note', id: 'dropped' }, `${waits.dropped}.`) : null,
    waits.contradictions ? el('p', { class: 'note', id: 'contradictions' },
      `${plural(waits.contradictions, 'sample')} contradicted the execution trace and ${waits.contradictions === 1 ? 'is' : 'are'} left out.`) : null,
    (waits.goroutines || []).map((g, i) => goroutine(g, i === 0, total, names, stacks)));
}

/** @param {Data.causeRow[]} list */
function causes(list) {
  return el('table', { id: 'causes' },
    el('caption', { class: 'sr' }, 'Causes of the duration, the longest first'),
    el('thead', {}, el('tr', {}, ['Cause', 'Took', 'In', 'By'].map((h, i) => el('th', { scope: 'col', class: i === 1 ? 'num' : '' }, h)))),
    el('tbody', {}, list.map((c) => el('tr', {},
      el('th', { scope: 'row' }, swatch(c), c.kind), el('td', { class: 'num' }, duration(c.took)),
      el('td', {}, c.function ? fn(c.function) : '', c.via ? [' via ', fn(c.via)] : '', c.request ? [' of ', ...party(c.request)] : ''),
      el('td', {}, party(c.by))))));
}

/** @param {{ class: string }} of */
const swatch = (of) => el('span', { class: 'swatch part', data: { class: of.class }, 'aria-hidden': 'true' });

/**
 * @typedef {Map<string, string>} Names of spans, by their ids
 */

/**
 * goroutine has its bar always, and its table when it is opened: there may be thousands of intervals.
 * @param {Data.goroutineRow} g
 * @param {boolean} serves
 * @param {number} total
 * @param {Names} names
 * @param {Data.frameRow[][]} stacks
 */
function goroutine(g, serves, total, names, stacks) {
  const inside = el('div', { class: 'intervals' });
  const fill = () => { if (!inside.firstChild) inside.append(...table(g, names, stacks)); };
  const node = el('details', { class: 'goroutine', data: { goroutine: g.id }, ontoggle: () => node.open && fill() },
    el('summary', {}, `Goroutine ${g.id} `, g.function ? fn(g.function) : '', serves ? ' serves the request' : '',
      el('span', { class: 'muted' }, ` ${plural(g.intervals.length + (g.cut || 0), 'interval')}`)),
    inside);
  return el('div', { class: 'lanes' }, el('span', { class: 'track segments', 'aria-hidden': 'true' }, parts(g.intervals, total)), node);
}

/**
 * @param {Data.goroutineRow} g
 * @param {Names} names
 * @param {Data.frameRow[][]} stacks
 */
function table(g, names, stacks) {
  const rows = g.intervals.slice(0, mostIntervals);
  const left = (g.cut || 0) + g.intervals.length - rows.length;
  return [
    el('table', { 'aria-label': `Intervals of goroutine ${g.id}` },
      el('thead', {}, el('tr', {}, ['State', 'Start', 'Took', 'In', 'Ended by, or had the processor', 'Span'].map((h, i) =>
        el('th', { scope: 'col', class: ['', 'num wide', 'num', '', '', 'wide'][i] }, h)))),
      el('tbody', {}, rows.map((i) => el('tr', { data: { class: i.class } },
        el('th', { scope: 'row' }, swatch(i), i.kind),
        el('td', { class: 'num wide' }, duration(i.start)),
        el('td', { class: 'num' }, duration(i.took)),
        el('td', {}, where(i, stacks)),
        el('td', {}, party(i.by), i.by && i.by.stack !== undefined ? stack(stacks[i.by.stack], 'its stack') : null),
        el('td', { class: 'wide' }, names.has(i.span) ? bdi(names.get(i.span) ?? '') : ''))))),
    ...(left > 0 ? [el('p', { class: 'muted' }, `Not listed: ${count(left)} more intervals.`)] : []),
  ];
}

/**
 * @param {Data.intervalRow} i
 * @param {Data.frameRow[][]} stacks
 */
function where(i, stacks) {
  if (i.stack === undefined) return i.in ? fn(i.in) : '';
  return stack(stacks[i.stack], i.in ? fn(i.in) : 'stack');
}
