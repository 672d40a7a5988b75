// The rows of a waterfall: spans, groups of equal spans, marks, and what ran in a span.
import { duration, plural } from './format.js';

/**
 * @typedef {object} Row
 * @property {string} key
 * @property {'span' | 'group' | 'mark' | 'ran' | 'stacks'} type
 * @property {number} depth
 * @property {Data.spanRow} span that it is or belongs to; of a group, the first one
 * @property {Data.markRow} [mark] of a mark
 * @property {Data.groupRow} [group] of a group
 * @property {Data.spanRow[]} [spans] of a group
 * @property {boolean} [parent] whether rows are below it
 */

/**
 * rowsOf lists the rows of a request, each below the one that it belongs to. A group's spans are below
 * it, also where others are between them.
 * @param {Pick<Data.requestDetail, 'rows' | 'groups' | 'session'>} request
 */
export function rowsOf(request) {
  const all = request.rows ?? [];
  /** @type {Map<number, Data.groupRow>} */
  const groupOf = new Map(); // by the indices of its spans
  for (const group of request.groups || []) group.rows.forEach((i) => groupOf.set(i, group));
  /** @type {Row[]} */
  const rows = [];
  const end = (/** @type {number} */ i) => {
    let next = i + 1;
    while (next < all.length && all[next].depth > all[i].depth) next++;
    return next;
  };

  /**
   * @param {number} i
   * @param {number} more
   */
  function add(i, more) {
    const span = all[i];
    const depth = span.depth + more;
    rows.push({ key: span.id, type: 'span', depth, span });
    if (span.hot) {
      rows.push({ key: `${span.id}.ran`, type: 'ran', depth: depth + 1, span });
      if (request.session) rows.push({ key: `${span.id}.stacks`, type: 'stacks', depth: depth + 2, span });
    }
    (span.marks || []).forEach((mark, n) => rows.push({ key: `${span.id}.${n}`, type: 'mark', depth: depth + 1, span, mark }));
    below(i + 1, end(i), more);
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {number} more
   */
  function below(from, to, more) {
    for (let i = from; i < to; i = end(i)) {
      const group = groupOf.get(i);
      if (!group) add(i, more);
      else if (group.rows[0] === i) {
        rows.push({ key: `${all[i].id}.group`, type: 'group', depth: all[i].depth + more, span: all[i], group, spans: group.rows.map((n) => all[n]) });
        group.rows.forEach((n) => add(n, more + 1));
      }
    }
  }

  below(0, all.length, 0);
  rows.forEach((row, i) => { row.parent = (rows[i + 1]?.depth ?? 0) > row.depth; });
  return rows;
}

/**
 * above lists the rows that row i is below, the innermost first.
 * @param {Row[]} rows
 * @param {number} i
 */
export function above(rows, i) {
  /** @type {Row[]} */
  const list = [];
  let { depth } = rows[i];
  for (let n = i - 1; n >= 0 && depth > 0; n--) {
    if (rows[n].depth < depth) {
      list.push(rows[n]);
      depth = rows[n].depth;
    }
  }
  return list;
}

/**
 * groupFacts are what a group's title has after its name.
 * @param {Data.groupRow} group
 */
export function groupFacts(group) {
  return `${duration(group.took)} in all, slowest ${duration(group.longest)}`;
}

// What one sample stands for may be more than its span took: its number says more than its time then.
/** @param {Data.spanRow} span */
const ran = ({ sampled = 0, samples, took }) => (sampled > took ? `ran in ${plural(samples, 'sample')}` : `ran ${duration(sampled)}`);

/**
 * nameOf is the name of a row.
 * @param {Row} row
 */
export function nameOf({ type, span, mark, group }) {
  if (mark) return mark.name;
  const orphan = span.orphan ? ' (parent missing)' : '';
  if (group) return `${span.name} × ${group.count}${orphan}`;
  if (type === 'ran') return ran(span);
  return type === 'stacks' ? 'stacks' : span.name + orphan;
}

/**
 * timeOf is when a row's thing began and how long it took.
 * @param {Row} row
 */
export function timeOf({ span, mark, spans }) {
  if (mark) return { start: mark.at, took: 0 };
  if (!spans) return { start: span.start, took: span.took };
  const start = Math.min(...spans.map((s) => s.start));
  return { start, took: Math.max(...spans.map((s) => s.start + s.took)) - start };
}
