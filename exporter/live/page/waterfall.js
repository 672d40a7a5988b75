// The waterfall: a table with a row for each span, group of equal spans, mark, and what ran in a span, all on one
// axis. A row is chosen by the button that is its name; the arrow keys go through them.
import { arrows, bdi, el, setVars } from './dom.js';
import { duration } from './format.js';
import { stepOf, ticks } from './axis.js';
import { ends, endsOf, lane, pathOf } from './lanes.js';
import { above, groupFacts, nameOf, rowsOf, timeOf } from './rows.js';
import { parts, segmentOf } from './states.js';

const mostOpen = 3000; // samples whose stacks are open at first
const tickWidth = 84; // pixels that a tick's text needs

/** waterfall shows a request on an axis. onSelect gets the chosen row, and the part of its bar if that was chosen. */
export function waterfall(request, axis, onSelect) {
  const rows = rowsOf(request);
  const total = axis.total;
  const tables = request.waits || {};
  const path = pathOf(request);
  const linked = endsOf(request);
  const nodes = new Map(); // row to its element, by key
  const closed = new Set(rows.filter((row) => row.type === 'group' || row.type === 'ran'));
  const sampled = rows.filter((row) => row.type === 'ran' && row.parent && row.span.samples <= mostOpen);
  closed.delete(sampled.reduce((best, row) => (best && best.span.samples >= row.span.samples ? best : row), null));
  const body = el('tbody', {}, rows.map((row) => {
    const node = makeRow(row);
    nodes.set(row.key, node);
    return node;
  }));
  let chosen = null;
  let part = null;

  function makeRow(row) {
    const { span, type } = row;
    const text = nameOf(row);
    const failures = { span: Number(span.failed || 0), group: row.group?.failed || 0 }[type] || 0;
    const { start, took } = timeOf(row);
    const facts = type === 'group' ? `, ${groupFacts(row.group)}` : '';
    const pick = type === 'stacks' ? el('p', { class: 'about' }) : el('button', { type: 'button', class: 'pick', title: `${text}${facts}${failures && type === 'group' ? `, ${failures} failed` : ''}`, onclick: () => choose(row) },
      type === 'mark' && el('span', { class: 'sr' }, 'mark '), bdi(text), type === 'group' && el('span', { class: 'sum' }, facts), failures > 0 && el('span', { class: 'failure' }, type === 'group' ? ` ${failures} failed` : ' error'));
    return el('tr', { class: `${type} ${type === 'span' && failures ? 'failed' : ''}`, data: { row: row.key, kind: ['span', 'group'].includes(type) ? span.kind : type } },
      el('th', { scope: 'row', class: 'name', vars: { depth: Math.min(row.depth, 12) } }, el('span', { class: 'indent' },
        row.parent
          ? el('button', { type: 'button', class: 'twist', 'aria-expanded': String(!closed.has(row)), 'aria-label': `What is below ${text}`, onclick: () => fold(row) })
          : el('span', { class: `sign ${type}`, 'aria-hidden': 'true' }),
        pick)),
      el('td', { class: 'num wide' }, type === 'ran' || type === 'stacks' ? '' : duration(start)),
      el('td', { class: 'num' }, { span: () => duration(took), group: () => duration(row.group.took) }[type]?.()),
      el('td', { class: 'lane' }, lane(row, total, tables, path), type === 'span' && linked.has(span.id) ? ends(linked.get(span.id)) : null));
  }

  const pickOf = (row) => nodes.get(row.key).querySelector('.pick');

  function choose(row, wait = null) {
    if (row.type === 'stacks') return;
    if (chosen) pickOf(chosen).removeAttribute('aria-current');
    chosen = row;
    pickOf(row).setAttribute('aria-current', 'true');
    mark(wait);
    onSelect(row, wait);
  }

  // mark marks the part of the chosen row's bar. After a zoom, the waits in its time are marked.
  function mark(wait) {
    part = wait;
    for (const node of body.querySelectorAll('.part.chosen')) node.classList.remove('chosen');
    if (!wait) return;
    const middle = (s) => s.start + s.took / 2;
    const has = (s, at) => s.start <= at && at <= s.start + s.took;
    const same = (s) => s === wait || (Boolean(s.wait) && (has(wait, middle(s)) || has(s, middle(wait))));
    for (const node of nodes.get(chosen.key).querySelectorAll('.part')) node.classList.toggle('chosen', same(segmentOf.get(node)));
  }

  // wait chooses the next wait of the chosen row, or the one before.
  function wait(forward) {
    if (chosen?.type !== 'span') return;
    const all = [...nodes.get(chosen.key).querySelectorAll('.part')].map((node) => segmentOf.get(node)).filter((s) => s.wait);
    const next = forward ? all.find((s) => !part || s.start > part.start) : all.findLast((s) => !part || s.start < part.start);
    if (next) choose(chosen, next);
  }

  function show() {
    let hiddenBelow = Infinity;
    for (const each of rows) {
      if (each.depth <= hiddenBelow) hiddenBelow = Infinity;
      nodes.get(each.key).hidden = hiddenBelow < Infinity;
      if (hiddenBelow === Infinity && closed.has(each)) hiddenBelow = each.depth;
    }
    opened();
  }

  function fold(row) {
    if (!closed.delete(row)) closed.add(row);
    nodes.get(row.key).querySelector('.twist').setAttribute('aria-expanded', String(!closed.has(row)));
    show();
  }

  // The charts of stacks are made when their rows are seen for the first time.
  let charts = null;
  function opened() {
    if (!charts) return;
    for (const row of rows) {
      const node = nodes.get(row.key);
      if (row.type !== 'stacks' || node.hidden || node.dataset.made) continue;
      node.dataset.made = 'true';
      node.querySelector('.lane').append(charts(row.span, node.querySelector('.about')));
    }
  }

  arrows(body, '.pick');
  body.addEventListener('click', (event) => { // anywhere in a row, for who has a mouse
    if (event.target.closest('button, a, [role=tree]')) return;
    const row = rows.find((r) => nodes.get(r.key).contains(event.target));
    const of = segmentOf.get(event.target);
    if (row) choose(row, of?.wait ? of : null);
  });
  body.addEventListener('keydown', (event) => {
    if (event.shiftKey || event.altKey || event.ctrlKey || event.metaKey || event.target.closest('[role=tree]')) return;
    const row = rows.find((r) => nodes.get(r.key).contains(event.target));
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
      if (row.type === 'mark') nodes.get(row.key).querySelector('.track').classList.toggle('late', (row.mark.at - axis.from) / axis.length > 0.5);
    }
  }
  axis.listen(drawAxis);
  new ResizeObserver(drawAxis).observe(marks);
  drawAxis();
  show();

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
    elementOf: (row) => nodes.get(row.key),
    get chosen() { return chosen; },

    /** select chooses the row of a key, and opens the rows above it. */
    select(key) {
      const row = find(key);
      if (row && row !== chosen) choose(row);
      return row;
    },

    /** reveal chooses the row of a key, and scrolls to it. */
    reveal(key) {
      const row = find(key);
      if (!row) return;
      choose(row);
      nodes.get(key).scrollIntoView({ block: 'nearest' });
    },

    /** chart sets the function that makes the chart of a span's stacks, with an element for a text about one of them. */
    chart(make) {
      charts = make;
      opened();
    },

    /** states replaces the parts of bars: states has them by the ids of spans; without, they are the request's. */
    states(states, of) {
      for (const row of rows) {
        if (row.type !== 'span' || !row.span.states) continue;
        const list = states ? states.get(row.span.id) || [] : row.span.states;
        nodes.get(row.key).querySelector('.parts').replaceChildren(...parts(list, total, of || tables));
      }
      mark(part);
    },
  };
}
