// What goroutines did, as an execution trace has it: parts of bars, their legend, and who ended a wait.
import { bdi, el } from './dom.js';
import { duration } from './format.js';
import { within } from './axis.js';

/** classes have the states that a bar tells apart, in the order of the legend. */
const classes = ['running', 'runnable', 'waiting', 'system call', 'garbage collector', 'not in the trace'];

/** segmentOf has the segment of each part of a bar, with the party that ended its wait and the function that it was in. */
export const segmentOf = new WeakMap();

/** parts are the segments of a bar on an axis of total milliseconds. tables has the parties and functions of their waits. */
export function parts(segments, total, { parties = [], functions = [] } = {}) {
  return segments.map((s) => {
    const at = within(s.start / total);
    const width = within((s.start + s.took) / total) - at;
    const segment = typeof s.by === 'object' ? s : { ...s, by: parties[s.by], in: functions[s.in] };
    const node = el('span', { class: 'part', title: about(segment), data: { class: s.class }, vars: { at, width } });
    segmentOf.set(node, segment);
    return node;
  });
}

function about(s) {
  const where = s.wait && s.in ? ` in ${short(s.in)}` : '';
  const who = s.wait && s.by ? `, ${s.class === 'runnable' ? 'processor used by' : 'ended by'} ${s.by.function ? short(s.by.function) : `goroutine ${s.by.goroutine}`}` : '';
  const whose = who && (s.by.own ? ' of this request' : s.by.request ? ` of ${s.by.request}` : '');
  return `${s.kind} ${duration(s.took)}${where}${who}${whose}`;
}

/** legend explains the colours of parts. */
export function legend() {
  return el('ul', { class: 'legend', id: 'states-legend', 'aria-label': 'Colours of the bars' },
    classes.map((name) => el('li', {}, el('span', { class: 'swatch part', data: { class: name }, 'aria-hidden': 'true' }), name)));
}

/** short is a function as the sentence names it: states.Short in Go. */
function short(name) {
  const [path, ...more] = name.split('[');
  const last = [path.slice(path.lastIndexOf('/') + 1), ...more].join('[');
  const method = last.indexOf('.(');
  return method < 0 ? last : last.slice(method + 1);
}

export const fn = (name) => el('code', { title: name }, bdi(short(name)));

/** party says who ended a wait, or had the processor, with a link to the request that it worked for. */
export function party(by) {
  if (!by) return [];
  const who = by.function ? fn(by.function) : `goroutine ${by.goroutine}`;
  if (by.own) return [who, ' of this request'];
  if (!by.request) return [who];
  const name = bdi(by.request);
  return [who, ' of ', by.trace ? el('a', { href: `#/requests/${by.trace}/${by.span}` }, name) : name];
}

/** stack is a list of calls, the innermost first, that opens by its summary. */
export function stack(frames, summary) {
  return el('details', { class: 'stack' }, el('summary', {}, summary),
    el('ol', {}, frames.map((f) => el('li', {}, el('code', {}, bdi(f.function)),
      f.file ? el('span', { class: 'muted' }, ` ${f.file}:${f.line || 0}`) : null))));
}
