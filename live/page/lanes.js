// What the rows of a waterfall show on the axis. Places are parts of the request's time: graphs.css
// puts them into the part of it that is shown.
import { bdi, el } from './dom.js';
import { duration, percent } from './format.js';
import { within } from './axis.js';
import { parts } from './segments.js';

/**
 * lane is the content of a row's last cell. tables has what parts of bars refer to; path the parts of
 * the critical path by span.
 * @param {import('./rows.js').Row} row
 * @param {number} total
 * @param {Data.segmentTables} tables
 * @param {Map<string, Data.pathRow[]>} path
 */
export function lane(row, total, tables, path) {
  const { type, span, mark, spans } = row;
  if (type === 'stacks') return [];
  if (type === 'ran') {
    return el('span', { class: 'hot' }, (span.hot ?? []).slice(0, 3).map((f) => el('span', {}, bdi(f.name), ` ${percent(f.time, span.sampled ?? 0)}`)));
  }
  if (mark) {
    const attributes = (mark.attributes || []).map((a) => `${a.key}=${a.value}`).join(' ');
    return el('span', { class: 'track', vars: { at: within(mark.at / total) } },
      el('span', { class: 'diamond', 'aria-hidden': 'true' }), attributes && el('bdi', { class: 'beside' }, attributes.slice(0, 120)));
  }
  if (spans) {
    return el('span', { class: 'track', 'aria-hidden': 'true' }, spans.flatMap((s) => [bar(s, total), ...critical(path.get(s.id), total)]));
  }
  return el('span', { class: 'track', 'aria-hidden': 'true' },
    bar(span, total),
    el('span', { class: 'parts' }, parts(span.segments || [], total, tables)),
    critical(path.get(span.id), total),
    (span.marks || []).slice(0, 100).map((m) => el('span', { class: 'diamond', title: `${m.name} at ${duration(m.at)}`, vars: { at: within(m.at / total) } })));
}

/**
 * @param {Data.spanRow} span
 * @param {number} total
 */
function bar(span, total) {
  const at = within(span.start / total);
  return el('span', { class: `bar ${span.segments ? 'traced' : ''} ${span.failed ? 'bad' : ''}`, vars: { at, width: Math.max(0, within((span.start + span.took) / total) - at) } });
}

/**
 * @param {Data.pathRow[] | undefined} list
 * @param {number} total
 */
const critical = (list = [], total) => list.map((p) => el('span', { class: 'critical', vars: { at: within(p.start / total), width: p.took / total } }));

/**
 * pathOf are the parts of the critical path by the ids of spans.
 * @param {Data.requestDetail} request
 */
export function pathOf(request) {
  /** @type {Map<string, Data.pathRow[]>} */
  const all = new Map();
  for (const part of request.path) {
    const id = request.rows?.[part.row].id ?? '';
    all.set(id, [...(all.get(id) ?? []), part]);
  }
  return all;
}

const mostEnds = 20; // links of a request
const leastEnd = 1 / 50; // of the request

/**
 * @typedef {{ at: number, party: Data.partyRow, wait: Data.segmentRow }} End
 */

/**
 * endsOf lists the waits that end with a link to the request that ended them, by the ids of spans: { at, party, wait }. A wait is on
 * the bars of all spans above it, too: the innermost has the link.
 * @param {Data.requestDetail} request
 */
export function endsOf(request) {
  /** @type {Map<string, End & { span: Data.spanRow }>} */
  const found = new Map();
  const parties = request.waits?.parties || [];
  for (const span of request.rows ?? []) {
    for (const wait of span.segments || []) {
      const party = wait.by === undefined ? null : parties[wait.by];
      if (!party?.trace || wait.class === 'runnable' || wait.took < leastEnd * request.took) continue;
      const key = `${wait.by} ${Math.round((wait.start + wait.took) / request.took * 200)}`;
      const before = found.get(key);
      if (!before || before.span.depth <= span.depth) found.set(key, { span, wait, party, at: within((wait.start + wait.took) / request.took) });
    }
  }
  /** @type {Map<string, End[]>} */
  const all = new Map();
  for (const end of [...found.values()].sort((a, b) => b.wait.took - a.wait.took).slice(0, mostEnds)) {
    all.set(end.span.id, [...(all.get(end.span.id) ?? []), end]);
  }
  return all;
}

/**
 * ends are the links at the ends of waits.
 * @param {End[]} list
 */
export function ends(list) {
  return el('span', { class: 'track ends' }, list.map(({ at, party, wait }) => el('a', {
    class: 'end', href: `#/requests/${party.trace}/${party.span}`, vars: { at },
    title: `${wait.kind} ended by ${party.request}: open it`, 'aria-label': `The wait of ${duration(wait.wait ?? 0)} was ended by ${party.request}`,
  })));
}
