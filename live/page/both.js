// Two requests on one axis: a row for each path of spans, with the bars of A above the bars of B.
import { bdi, el } from './dom.js';
import { within } from './axis.js';
import { count, duration, plural } from './format.js';

/**
 * bothOnOneAxis shows the spans of a comparison by their start in a tree.
 * @param {Data.comparison} c
 */
export function bothOnOneAxis(c) {
  const total = Math.max(c.a.took, c.b.took, 1e-6);
  const cut = [[c.spansCut, plural(c.spansCut, 'path')], [c.barsCut, plural(c.barsCut, 'bar')]].filter(([n]) => n).map(([, text]) => text);
  return el('section', { 'aria-labelledby': 'both-title' },
    el('h2', { id: 'both-title' }, 'Both on one axis'),
    el('table', { class: 'waterfall both', id: 'both' },
      el('caption', { class: 'sr' }, 'Spans by their names, each below the one it belongs to, with their number in A and in B'),
      el('thead', {}, el('tr', {},
        el('th', { scope: 'col' }, 'Span'),
        el('th', { scope: 'col', class: 'num' }, 'A | B'),
        el('th', { scope: 'col', class: 'lane' }, el('span', { class: 'sr' }, 'Timeline'),
          el('span', { class: 'axis', 'aria-hidden': 'true' }, [0, 0.25, 0.5, 0.75, 1].map((at) => el('span', { class: { 0: 'first', 1: 'last' }[at], vars: { at } }, duration(total * at))))))),
      el('tbody', {}, c.spans.map((d) => row(d, total)))),
    cut.length ? el('p', { class: 'note', id: 'cut' }, `Left out: ${cut.join(', ')}.`) : null);
}

/**
 * @param {Data.spanDifference} d
 * @param {number} total
 */
function row(d, total) {
  return el('tr', {},
    el('th', { scope: 'row', class: 'name', vars: { depth: Math.min(d.depth, 12) } }, el('span', { class: 'indent' }, bdi(d.name, { title: d.name }))),
    el('td', { class: 'num' }, `${count(d.a.count)} | ${count(d.b.count)}`),
    el('td', { class: 'lane' }, track('a', d.a, total), track('b', d.b, total)));
}

/**
 * @param {string} side
 * @param {Data.spanSum} sum
 * @param {number} total
 */
function track(side, sum, total) {
  return el('span', { class: 'track', data: { side }, 'aria-hidden': 'true' }, (sum.bars || []).map((bar) => {
    const at = within(bar.start / total);
    const width = within((bar.start + bar.took) / total) - at;
    return el('span', { class: bar.failed ? 'failed' : null }, el('span', { class: 'bar', title: duration(bar.took), vars: { at, width } }));
  }));
}
