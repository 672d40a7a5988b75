// The waterfall: a table with a row for each span, group of equal spans, mark, and what ran in a span, all on one
// axis. A row is chosen by the button that is its name; the arrow keys go through them.
import { arrows, bdi, el, element, elements, setVars, targetOf } from './dom.js';
import { duration } from './format.js';
import { stepOf, ticks } from './axis.js';
import { ends, endsOf, lane, pathOf } from './lanes.js';
import { above, groupFacts, nameOf, rowsOf, timeOf } from './rows.js';
import { isSameWait, nextWait, parts, segmentOf } from './segments.js';

const mostOpen = 3000; // samples whose stacks are open at first
const tickWidth = 84; // pixels that a tick's text needs

/**
 * @typedef {import('./rows.js').Row} Row
 * @typedef {import('./segments.js').Segment} Segment
 * @typedef {ReturnType<typeof waterfall>} Waterfall
 */

/**
 * hiddenBelow returns the rows that are hidden, because they are below a closed one.
 * @param {Row[]} rows
 * @param {Set<Row>} closed
 */
export function hiddenBelow(rows, closed) {
  /** @type {Set<Row>} */
  const hidden = new Set();
  let depth = Infinity; // of the closed row above
  for (const row of rows) {
    if (row.depth <= depth) depth = Infinity;
    if (depth < Infinity) hidden.add(row);
    else if (closed.has(row)) depth = row.depth;
  }
  return hidden;
}

/**
 * closedAtFirst returns the rows that are closed at first: groups, and what ran in spans but for the
 * span with the most samples.
 * @param {Row[]} rows
 */
export function closedAtFirst(rows) {
  const closed = new Set(rows.filter((row) => row.type === 'group' || row.type === 'ran'));
  const count = (/** @type {Row} */ row) => row.span.samples ?? 0;
  const sampled = rows.filter((row) => row.type === 'ran' && row.parent && count(row) <= mostOpen);
  if (sampled.length) closed.delete(sampled.reduce((best, row) => (count(best) >= count(row) ? best : row)));
  return closed;
}

/**
 * waterfall shows a request on an axis. onSelect gets the chosen row, and the part of its bar if that
 * was chosen.
 * @param {Data.requestDetail} request
 * @param {import('./axis.js').Axis} axis
 * @param {(row: Row, wait: Segment | null) => void} onSelect
 */
export function waterfall(request, axis, onSelect) {
  const rows = rowsOf(request);
  const total = axis.total;
  const tables = request.waits ?? {};
  const path = pathOf(request);
  const linked = endsOf(request);
  /** @type {Map<string, HTMLElement>} */
  const nodes = new Map(); // row to its element, by key
  const closed = closedAtFirst(rows);
  const body = el('tbody', {}, rows.map((row) => {
    const node = makeRow(row);
    nodes.set(row.key, node);
    return node;
  }));
  const chosen = { row: /** @type {Row | null} */ (null) };
  /** @type {Segment | null} */
  let part = null;

  /** @param {Row} row */
  function makeRow(row) {
    const { span, type } = row;
    const text = nameOf(row);
    const failures = row.group ? row.group.failed || 0 : type === 'span' && span.failed ? 1 : 0;
    const { start, took } = timeOf(row);
    const facts = row.group ? `, ${groupFacts(row.group)}` : '';
    const pick = type === 'stacks' ? el('p', { class: 'about' }) : el('button', { type: 'button', class: 'pick', title: `${text}${facts}${failures && type === 'group' ? `, ${failures} failed` : ''}`, onclick: () => choose(row) },
      type === 'mark' && el('span', { class: 'sr' }, 'mark '), bdi(text), type === 'group' && el('span', { class: 'sum' }, facts), failures > 0 && el('span', { class: 'failure' }, type === 'group' ? ` ${failures} failed` : ' error'));
    return el('tr', { class: `${type} ${type === 'span' && failures ? 'failed' : ''}`, data: { row: row.key, kind: ['span', 'group'].includes(type) ? span.kind : type } },
      el('th', { scope: 'row', class: 'name', vars: { depth: Math.min(row.depth, 12) } }, el('span', { class: 'indent' },
        row.parent
          ? el('button', { type: 'button', class: 'twist', 'aria-expanded': String(!closed.has(row)), 'aria-label': `What is below ${text}`, onclick: () => fold(row) })
          : el('span', { class: `sign ${type}`, 'aria-hidden': 'true' }),
        pick)),
      el('td', { class: 'num wide' }, type === 'ran' || type === 'stacks' ? '' : duration(start)),
      el('td', { class: 'num' }, row.group ? duration(row.group.took) : type === 'span' ? duration(took) : ''),
      el('td', { class: 'lane' }, lane(row, total, tables, path), type === 'span' && linked.has(span.id) ? ends(linked.get(span.id) ?? []) : null));
  }

  const nodeOf = (/** @type {Row} */ row) => /** @type {HTMLElement} */ (nodes.get(row.key));
  const pickOf = (/** @type {Row} */ row) => element(nodeOf(row), '.pick');
  const rowOf = (/** @type {Node} */ target) => rows.find((r) => nodeOf(r).contains(target));

  /**
   * @param {Row} row
   * @param {Segment | null} wait
   */
  function choose(row, wait = null) {
    if (row.type === 'stacks') return;
    if (chosen.row) pickOf(chosen.row).removeAttribute('aria-current');
    chosen.row = row;
    pickOf(row).setAttribute('aria-current', 'true');
    mark(wait);
    onSelect(row, wait);
  }

  /**
   * mark marks the part of the chosen row's bar. After a zoom, the waits in its time are marked.
   * @param {Segment | null} wait
   */
  function mark(wait) {
    part = wait;
    for (const node of body.querySelectorAll('.part.chosen')) node.classList.remove('chosen');
    if (!wait || !chosen.row) return;
    for (const node of elements(nodeOf(chosen.row), '.part')) {
      const segment = segmentOf.get(node);
      node.classList.toggle('chosen', segment !== undefined && isSameWait(wait, segment));
    }
  }

  /**
   * wait chooses the next wait of the chosen row, or the one before.
   * @param {boolean} forward
   */
  function wait(forward) {
    const { row } = chosen;
    if (row?.type !== 'span') return;
    const next = nextWait(elements(nodeOf(row), '.part').map((node) => segmentOf.get(node)), part, forward);
    if (next) choose(row, next);
  }

  function show() {
    const hidden = hiddenBelow(rows, closed);
    for (const row of rows) nodeOf(row).hidden = hidden.has(row);
    opened();
  }

  /** @param {Row} row */
  function fold(row) {
    if (!closed.delete(row)) closed.add(row);
    element(nodeOf(row), '.twist').setAttribute('aria-expanded', String(!closed.has(row)));
    show();
  }

  // The charts of stacks are made when their rows are seen for the first time.
  /** @type {((span: Data.spanRow, about: HTMLElement) => HTMLElement) | null} */
  let charts = null;
  function opened() {
    if (!charts) return;
    for (const row of rows) {
      const node = nodeOf(row);
      if (row.type !== 'stacks' || node.hidden || node.dataset.made) continue;
      node.dataset.made = 'true';
      element(node, '.lane').append(charts(row.span, element(node, '.about')));
    }
  }

  arrows(body, '.pick');
  body.addEventListener('click', (event) => { // anywhere in a row, for who has a mouse
    const target = targetOf(event);
    if (target.closest('button, a, [role=tree]')) return;
    const row = rowOf(target);
    const of = segmentOf.get(target);
    if (row) choose(row, of?.wait ? of : null);
  });
  body.addEventListener('keydown', (event) => {
    if (event.shiftKey || event.altKey || event.ctrlKey || event.metaKey || targetOf(event).closest('[role=tree]')) return;
    const row = rowOf(targetOf(event));
    if (event.key === '.' || event.key === ',') {
      event.preventDefault();
      wait(event.key === '.');
      return;
    }
    const want = { ArrowLeft: false, ArrowRight: true }[event.key];
    if (!row?.parent || want === undefined || closed.has(row) !== want) return;
    event.preventDefault();
    fold(row);
  });

  const marks = el('span', { class: 'axis', 'aria-hidden': 'true' });
  const node = el('table', { class: 'waterfall paths', id: 'waterfall' },
    el('caption', { class: 'sr' }, 'Spans, measures and marks by their start, each below the one it belongs to'),
    el('thead', {}, el('tr', {},
      el('th', { scope: 'col' }, 'Name'),
      el('th', { scope: 'col', class: 'num wide' }, 'Start'),
      el('th', { scope: 'col', class: 'num' }, 'Took'),
      el('th', { scope: 'col', class: 'lane' }, el('span', { class: 'sr' }, 'Timeline'), marks))),
    body);

  function drawAxis() {
    const n = Math.max(2, Math.floor((marks.clientWidth || 600) / tickWidth));
    marks.replaceChildren(...ticks(axis, n).map(({ at, text }) => {
      const place = (at - axis.from) / axis.length;
      return el('span', { class: place < 0.04 ? 'first' : place > 0.96 ? 'last' : '', vars: { at: at / total } }, text);
    }));
    const step = stepOf(axis.length, n) / axis.length;
    const phase = -((axis.from / axis.length) % step);
    setVars(node, { grid: step, phase: step < 1 ? phase / (1 - step) : 0 });
    for (const row of rows) { // the text beside a mark is where it has room
      if (row.mark) element(nodeOf(row), '.track').classList.toggle('late', (row.mark.at - axis.from) / axis.length > 0.5);
    }
  }
  axis.listen(drawAxis);
  new ResizeObserver(drawAxis).observe(marks);
  drawAxis();
  show();

  /** @param {string} key */
  function find(key) {
    const i = rows.findIndex((r) => r.key === key);
    if (i < 0) return null;
    above(rows, i).filter((r) => closed.has(r)).forEach(fold);
    return rows[i];
  }

  return {
    node,
    rows,
    /** lanes is the element whose width is the axis. */
    lanes: marks,
    elementOf: nodeOf,
    get chosen() { return chosen.row; },

    /**
     * select chooses the row of a key, and opens the rows above it.
     * @param {string} key
     */
    select(key) {
      const row = find(key);
      if (row && row !== chosen.row) choose(row);
      return row;
    },

    /**
     * reveal chooses the row of a key, and scrolls to it.
     * @param {string} key
     */
    reveal(key) {
      const row = find(key);
      if (!row) return;
      choose(row);
      nodeOf(row).scrollIntoView({ block: 'nearest' });
    },

    /**
     * chart sets the function that makes the chart of a span's stacks, with an element for a text about
     * one of them.
     * @param {(span: Data.spanRow, about: HTMLElement) => HTMLElement} make
     */
    chart(make) {
      charts = make;
      opened();
    },

    /**
     * segments replaces the parts of bars: all has them by the ids of spans; without, they are the
     * request's.
     * @param {Map<string, Data.segmentRow[]> | null} all
     * @param {Data.segmentTables} [of]
     */
    segments(all, of) {
      for (const row of rows) {
        if (row.type !== 'span' || !row.span.segments) continue;
        const list = all ? all.get(row.span.id) || [] : row.span.segments;
        element(nodeOf(row), '.parts').replaceChildren(...parts(list, total, of || tables));
      }
      mark(part);
    },
  };
}
