// The waterfall: a table with a row for each span, mark, and what ran in a span, all on one
// axis. A row is chosen by the button that is its name; the arrow keys go through them.
import { arrows, bdi, el } from './dom.js';
import { duration, percent, plural } from './format.js';
import { parts } from './states.js';

/** rowsOf lists spans with what is below each: { key, type, depth, span, mark }. */
function rowsOf(request) {
  const rows = [];
  for (const span of request.rows) {
    rows.push({ key: span.id, type: 'span', depth: span.depth, span });
    if (span.hot) rows.push({ key: `${span.id}.ran`, type: 'ran', depth: span.depth + 1, span });
    (span.marks || []).forEach((mark, i) => rows.push({ key: `${span.id}.${i}`, type: 'mark', depth: span.depth + 1, span, mark }));
  }
  rows.forEach((row, i) => { row.parent = row.type === 'span' && (rows[i + 1]?.depth ?? 0) > row.depth; });
  return rows;
}

/** waterfall shows a request, and calls onSelect with the row that is chosen. */
export function waterfall(request, onSelect) {
  const rows = rowsOf(request);
  const total = Math.max(request.took, 1e-6);
  const nodes = new Map(); // row to its element, by key
  const body = el('tbody', {}, rows.map((row) => {
    const node = makeRow(row, total, () => choose(row), () => fold(row));
    nodes.set(row.key, node);
    return node;
  }));
  const closed = new Set();
  let chosen = null;

  function choose(row) {
    if (chosen) nodes.get(chosen.key).querySelector('.pick').removeAttribute('aria-current');
    chosen = row;
    nodes.get(row.key).querySelector('.pick').setAttribute('aria-current', 'true');
    onSelect(row);
  }

  function fold(row) {
    if (!closed.delete(row)) closed.add(row);
    const twist = nodes.get(row.key).querySelector('.twist');
    twist.setAttribute('aria-expanded', String(!closed.has(row)));
    let hiddenBelow = Infinity;
    for (const each of rows) {
      if (each.depth <= hiddenBelow) hiddenBelow = Infinity;
      nodes.get(each.key).hidden = hiddenBelow < Infinity;
      if (hiddenBelow === Infinity && closed.has(each)) hiddenBelow = each.depth;
    }
  }

  arrows(body, '.pick');
  body.addEventListener('click', (event) => { // anywhere in a row, for who has a mouse
    const row = !event.target.closest('button') && rows.find((r) => nodes.get(r.key).contains(event.target));
    if (row) choose(row);
  });
  body.addEventListener('keydown', (event) => {
    const row = rows.find((r) => nodes.get(r.key).contains(event.target));
    const want = { ArrowLeft: false, ArrowRight: true }[event.key];
    if (!row?.parent || want === undefined || closed.has(row) !== want) return;
    event.preventDefault();
    fold(row);
  });

  const node = el('table', { class: 'waterfall', id: 'waterfall' },
    el('caption', { class: 'sr' }, 'Spans, measures and marks by their start, each below the one it belongs to'),
    el('thead', {}, el('tr', {},
      el('th', { scope: 'col' }, 'Name'),
      el('th', { scope: 'col', class: 'num wide' }, 'Start'),
      el('th', { scope: 'col', class: 'num' }, 'Took'),
      el('th', { scope: 'col', class: 'lane' }, el('span', { class: 'sr' }, 'Timeline'), axis(total)))),
    body);
  return {
    node,
    select(key) {
      const row = rows.find((r) => r.key === key);
      if (row && row !== chosen) choose(row);
    },
  };
}

function axis(total) {
  return el('span', { class: 'axis', 'aria-hidden': 'true' },
    [0, 0.25, 0.5, 0.75, 1].map((at) => el('span', { vars: { at } }, duration(total * at))));
}

// What one sample stands for may be more than its span took: its number says more than its time then.
const ran = (span) => (span.sampled > span.took ? `ran in ${plural(span.samples, 'sample')}` : `ran ${duration(span.sampled)}`);

function makeRow(row, total, onChoose, onFold) {
  const { span, mark, type } = row;
  const text = type === 'ran' ? ran(span) : (mark || span).name;
  const failed = type === 'span' && span.failed;
  const name = el('th', { scope: 'row', class: 'name', vars: { depth: Math.min(row.depth, 12) } },
    el('span', { class: 'indent' },
      row.parent
        ? el('button', { type: 'button', class: 'twist', 'aria-expanded': 'true', 'aria-label': `What is below ${text}`, onclick: onFold })
        : el('span', { class: `sign ${type}`, 'aria-hidden': 'true' }),
      el('button', { type: 'button', class: 'pick', title: text, onclick: onChoose },
        type === 'mark' && el('span', { class: 'sr' }, 'mark '), bdi(text), failed && el('span', { class: 'failure' }, ' error'))));
  const start = type === 'mark' ? mark.at : span.start;
  return el('tr', { class: `${type} ${failed ? 'failed' : ''}`, data: { row: row.key, kind: type === 'span' ? span.kind : type } },
    name,
    el('td', { class: 'num wide' }, type === 'ran' ? '' : duration(start)),
    el('td', { class: 'num' }, type === 'span' ? duration(span.took) : ''),
    el('td', { class: 'lane' }, lane(row, total)));
}

const within = (x) => Math.min(1, Math.max(0, x));

function lane({ type, span, mark }, total) {
  if (type === 'ran') {
    return el('span', { class: 'hot' }, span.hot.slice(0, 3).map((f) => el('span', {}, bdi(f.name), ` ${percent(f.time, span.sampled)}`)));
  }
  if (type === 'mark') {
    const at = within(mark.at / total);
    const attributes = (mark.attributes || []).map((a) => `${a.key}=${a.value}`).join(' ');
    return el('span', { class: `track ${at > 0.5 ? 'late' : ''}`, vars: { at } },
      el('span', { class: 'diamond', 'aria-hidden': 'true' }), attributes && el('bdi', { class: 'beside' }, attributes.slice(0, 120)));
  }
  const from = within(span.start / total);
  const to = within((span.start + span.took) / total);
  return el('span', { class: 'track', 'aria-hidden': 'true' },
    el('span', { class: span.states ? 'bar traced' : 'bar', vars: { at: from, width: Math.max(0, to - from) } }),
    parts(span.states || [], total),
    (span.marks || []).slice(0, 100).map((m) => el('span', { class: 'diamond', title: `${m.name} at ${duration(m.at)}`, vars: { at: within(m.at / total) } })));
}
