// What goroutines did, as an execution trace has it: parts of bars, their legend, and who ended a wait.
import { bdi, el } from './dom.js';
import { duration } from './format.js';
import { within } from './axis.js';

/** classes have the states that a bar tells apart, in the order of the legend. */
const classes = ['running', 'runnable', 'waiting', 'system call or C code', 'garbage collector', 'not in the trace'];

/**
 * @typedef {Omit<Data.segmentRow, 'in' | 'by'> & { in?: string, by?: Data.partyRow }} Segment a part of
 * a bar, with the function and the party themselves
 */

/**
 * segmentOf has the segment of each part of a bar, with the party that ended its wait and the function
 * that it was in.
 * @type {WeakMap<Node, Segment>}
 */
export const segmentOf = new WeakMap();

/**
 * resolved is a segment with what its indices are of.
 * @param {Data.segmentRow | Data.intervalRow} s
 * @param {Data.segmentTables} tables
 * @returns {Segment}
 */
export function resolved(s, { parties = [], functions = [] }) {
  const { by, in: where, ...rest } = s;
  return {
    ...rest,
    by: typeof by === 'number' ? parties[by] : by,
    in: typeof where === 'number' ? functions[where] : where,
  };
}

/**
 * parts are the segments of a bar on an axis of total milliseconds. tables has the parties and
 * functions of their waits.
 * @param {(Data.segmentRow | Data.intervalRow)[]} segments
 * @param {number} total
 * @param {Data.segmentTables} tables
 */
export function parts(segments, total, tables = {}) {
  return segments.map((s) => {
    const at = within(s.start / total);
    const width = within((s.start + s.took) / total) - at;
    const segment = resolved(s, tables);
    const node = el('span', { class: 'part', title: about(segment), data: { class: s.class }, vars: { at, width } });
    segmentOf.set(node, segment);
    return node;
  });
}

/** @param {Segment} s */
export function about(s) {
  const where = s.wait && s.in ? ` in ${short(s.in)}` : '';
  const { by } = s;
  const who = s.wait && by ? `, ${s.class === 'runnable' ? 'processor used by' : 'ended by'} ${by.function ? short(by.function) : `goroutine ${by.goroutine}`}` : '';
  const whose = !who || !by ? '' : by.own ? ' of this request' : by.request ? ` of ${by.request}` : '';
  return `${s.kind} ${duration(s.took)}${where}${who}${whose}`;
}

/**
 * isSameWait reports whether a part of a bar shows a wait, also if the parts are cut otherwise.
 * @param {Segment} wait
 * @param {Segment} s
 */
export function isSameWait(wait, s) {
  const middle = (/** @type {Segment} */ x) => x.start + x.took / 2;
  const has = (/** @type {Segment} */ x, /** @type {number} */ at) => x.start <= at && at <= x.start + x.took;
  return s === wait || (Boolean(s.wait) && (has(wait, middle(s)) || has(s, middle(wait))));
}

/**
 * nextWait is the wait after a part of a bar, or the one before it; without a part, the first or the
 * last one.
 * @param {(Segment | undefined)[]} all by time
 * @param {Segment | null} part
 * @param {boolean} forward
 */
export function nextWait(all, part, forward) {
  const waits = all.filter((s) => s !== undefined).filter((s) => s.wait);
  return forward ? waits.find((s) => !part || s.start > part.start) : waits.findLast((s) => !part || s.start < part.start);
}

/** legend explains the colours of parts. */
export function legend() {
  return el('ul', { class: 'legend', id: 'segments-legend', 'aria-label': 'Colours of the bars' },
    classes.map((name) => el('li', {}, el('span', { class: 'swatch part', data: { class: name }, 'aria-hidden': 'true' }), name)));
}

/**
 * short is a function as the sentence names it: text.Function in Go.
 * @param {string} name
 */
export function short(name) {
  const [path, ...more] = name.split('[');
  const last = [path.slice(path.lastIndexOf('/') + 1), ...more].join('[');
  const method = last.indexOf('.(');
  return method < 0 ? last : last.slice(method + 1);
}

/** @param {string} name */
export const fn = (name) => el('code', { title: name }, bdi(short(name)));

/**
 * party says who ended a wait, or had the processor, with a link to the request that it worked for.
 * @param {Data.partyRow | undefined} by
 */
export function party(by) {
  if (!by) return [];
  const who = by.function ? fn(by.function) : `goroutine ${by.goroutine}`;
  if (by.own) return [who, ' of this request'];
  if (!by.request) return [who];
  const name = bdi(by.request);
  return [who, ' of ', by.trace ? el('a', { href: `#/requests/${by.trace}/${by.span}` }, name) : name];
}

/**
 * stack is a list of calls, the innermost first, that opens by its summary.
 * @param {Data.frameRow[]} frames
 * @param {string | Node} summary
 */
export function stack(frames, summary) {
  return el('details', { class: 'stack' }, el('summary', {}, summary),
    el('ol', {}, frames.map((f) => el('li', {}, el('code', {}, bdi(f.function)),
      f.file ? el('span', { class: 'muted' }, ` ${f.file}:${f.line || 0}`) : null))));
}
