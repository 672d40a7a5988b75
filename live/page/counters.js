// Perfline's own counts, those of losses first to be seen.
import { el, element, elements, reconcile, setText } from './dom.js';
import { count } from './format.js';

/** @type {Record<string, string>} */
const titles = {
  'perfline.entries': 'The timeline: marks, measures, requests',
  'perfline.marks': 'Marks',
  'perfline.spans': 'Spans',
  'perfline.panics': 'Panics of the program\'s code',
  'perfline.requests': 'Requests by the policy that keeps them',
  'perfline.requests.exported': 'Requests exported because they are kept',
  'perfline.requests.untracked': 'Requests that could not be kept',
  'perfline.requests.forgotten_calls': 'Open calls that were forgotten',
  'perfline.requests.refused': 'Entries of requests without room in memory',
  'perfline.spans.under_unsampled': 'Spans below an unsampled span of another provider',
  'perfline.spans.off_timeline': 'Spans missing on their timeline',
  'perfline.spans.unlabelled': 'Spans missing in profiles',
  'perfline.delivery.spans': 'Delivery of spans',
  'perfline.delivery.spans.unanswered': 'Spans without an answer',
  'perfline.delivery.spans.retries': 'Repeated requests with spans',
  'perfline.delivery.logs': 'Delivery of log records',
  'perfline.delivery.logs.unanswered': 'Log records without an answer',
  'perfline.delivery.logs.retries': 'Repeated requests with log records',
  'perfline.delivery.metrics': 'Delivery of metrics',
  'perfline.delivery.metrics.unanswered': 'Metric points without an answer',
  'perfline.delivery.metrics.retries': 'Repeated requests with metrics',
  'perfline.delivery.profiles': 'Delivery of profiles',
  'perfline.delivery.profiles.retries': 'Repeated requests with profiles',
  'perfline.delivery.otlp_profiles': 'Delivery of profiles over OTLP',
  'perfline.delivery.otlp_profiles.unanswered': 'Profiles over OTLP without an answer',
  'perfline.delivery.otlp_profiles.retries': 'Repeated requests with profiles over OTLP',
  'perfline.profiling.failed': 'Failed profiles',
  'perfline.profiling.put_off': 'Profiles put off',
  'perfline.profiling.lost_samples': 'Lost samples',
  'perfline.profiling.engine': 'Profiling engine',
  'perfline.profiling.gaps': 'Gaps in profiling',
  'perfline.measures': 'Measures over the bound of the histogram',
  'perfline.measures.series': 'Series of the histogram of measures',
  'perfline.waits.requests': 'What slow requests waited for',
  'perfline.waits.snapshots': 'Snapshots of the execution trace',
  'perfline.waits.snapshot_bytes': 'Size of the snapshots',
  'perfline.waits.panics': 'Panics in the analysis',
  'perfline.waits.results': 'Results in memory',
  'perfline.waits.result_bytes': 'Size of the results in memory',
  'perfline.waits.too_large': 'Results without goroutines',
  'perfline.waits.evicted': 'Results that gave way to slower requests',
  'perfline.waits.spans': 'Exported root spans of slow requests',
  'perfline.recent': 'Requests kept for this page',
  'perfline.sessions': 'Sessions',
};

/** @param {import('./main.js').Page} page */
export function counters({ main, latest }) {
  const summary = el('p', { id: 'lost' });
  const said = el('p', { class: 'sr', role: 'status', id: 'lost-said' }); // once, not with each number
  const groups = el('div', { class: 'counters' });
  main.append(el('h1', {}, 'Counters'), summary, said, groups);

  function update() {
    const all = latest.counts;
    if (!all) return;
    const lost = all.filter((c) => c.lost && c.n > 0);
    setText(summary, lost.length
      ? `Something was lost: ${lost.map((c) => `${count(c.n)} ${c.kind ? `entries of type ${c.kind} ` : ''}${c.what}`).join('; ')}.`
      : 'Nothing was lost since the start of the program.');
    setText(said, lost.length ? 'Something was lost' : '');
    summary.className = lost.length ? 'note bad' : 'note';
    const names = [...new Set(all.map((c) => c.group))];
    reconcile(groups, names, (g) => g, makeGroup, (node, g) => {
      const counts = all.filter((c) => c.group === g);
      if (counts[0].kind) matrix(node, counts);
      else reconcile(element(node, 'tbody'), counts, (c) => c.name, makeCount, (row, c) => number(element(row, '.num'), c));
    });
  }
  update();
  return { update: (/** @type {string} */ kind) => { if (kind === 'counts') update(); } };
}

/**
 * lostIn is how much was lost, of all counts together.
 * @param {Data.countRow[]} counts
 */
export const lostIn = (counts) => counts.filter((c) => c.lost).reduce((sum, c) => sum + c.n, 0);

/** @param {string[]} names */
const header = (names) => el('tr', {}, names.map((h, i) => el('th', { scope: 'col', class: i ? 'num' : '' }, h)));

/** @param {string} name */
function makeGroup(name) {
  return el('section', { 'aria-label': titles[name] || name, data: { group: name } },
    el('h2', {}, titles[name] || name, ' ', el('code', { class: 'muted' }, name)),
    el('table', {}, el('thead', { class: 'sr' }, header(['Count', 'Number', 'Meaning'])), el('tbody')));
}

/** @param {Data.countRow} c */
function makeCount(c) {
  return el('tr', { data: { count: c.name } }, el('th', { scope: 'row' }, c.name || c.group.split('.').pop()), el('td', { class: 'num' }), el('td', { class: 'muted' }, c.what));
}

/**
 * matrix has a row for each kind and a column for each count.
 * @param {HTMLElement} node
 * @param {Data.countRow[]} counts
 */
function matrix(node, counts) {
  const names = [...new Set(counts.map((c) => c.name))];
  const head = element(node, 'thead');
  if (head.className) {
    head.className = '';
    const around = el('div', { class: 'matrix', role: 'group', tabindex: '0', 'aria-label': 'By type' });
    const table = element(node, 'table');
    table.replaceWith(around);
    around.append(table);
    head.replaceChildren(header(['Type', ...names]));
    node.append(el('dl', {}, names.map((n) => el('div', {}, el('dt', {}, n), el('dd', {}, counts.find((c) => c.name === n)?.what)))));
  }
  const kinds = [...new Set(counts.map((c) => c.kind))];
  const make = (/** @type {string | undefined} */ kind) => el('tr', {}, el('th', { scope: 'row' }, kind), names.map((name) => el('td', { class: 'num', data: { count: `${kind} ${name}` } })));
  reconcile(element(node, 'tbody'), kinds, (k) => k ?? '', make, (row, kind) => {
    const cells = elements(row, 'td');
    names.forEach((name, i) => number(cells[i], counts.find((c) => c.kind === kind && c.name === name)));
  });
}

/**
 * @param {HTMLElement} cell
 * @param {Data.countRow | undefined} c
 */
function number(cell, c) {
  if (!c) return;
  const lost = Boolean(c.lost) && c.n > 0;
  setText(cell, lost ? `${count(c.n)} lost` : c.now ? `${count(c.n)} now` : count(c.n));
  cell.classList.toggle('lost', lost);
}
