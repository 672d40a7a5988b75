// What is known of the selected row of a waterfall.
import { bdi, el } from './dom.js';
import { count, duration, percent } from './format.js';
import { shareOf } from './path.js';
import { fn, party } from './segments.js';

/** @typedef {import('./segments.js').Segment} Segment */

/**
 * details shows a row, and the part of its bar if that is chosen. onSelect gets the key of another row.
 * @param {Data.requestDetail} request
 * @param {(key: string) => void} onSelect
 */
export function details(request, onSelect) {
  const node = el('aside', { class: 'details', id: 'details', 'aria-label': 'Details of the selected row', tabindex: '0' });
  return {
    node,
    /**
     * @param {import('./rows.js').Row} row
     * @param {Segment | null} wait
     */
    show({ span, mark, group, spans }, wait = null) {
      if (mark) {
        node.replaceChildren(title('mark', mark.name), facts([['At', duration(mark.at)], ['On', span.name]]), ...attributes('Attributes', mark.attributes));
        return;
      }
      if (group && spans) {
        node.replaceChildren(title(span.kind, `${span.name} × ${group.count}`), ...equal(request, group, spans, onSelect));
        return;
      }
      node.replaceChildren(
        title(span.kind, span.name),
        ...(wait ? [waited(wait)] : []),
        ...(span.failed ? [el('p', { class: 'note bad', id: 'span-error' }, bdi(span.error || 'It ended with an error.'))] : []),
        facts([['Began at', duration(span.start)], ['Took', duration(span.took)], ['Critical path', shareOf(request, [span])], ['Span', span.id], ['Made by', span.scope], span.orphan && ['Parent', 'missing']]),
        ...waits(span),
        ...ran(span),
        ...attributes('Attributes', span.attributes),
        ...(span.depth === 0 ? attributes('Resource', request.resource, true) : []));
    },
  };
}

/**
 * equal has what equal spans have together.
 * @param {Data.requestDetail} request
 * @param {Data.groupRow} group
 * @param {Data.spanRow[]} spans
 * @param {(key: string) => void} onSelect
 */
function equal(request, group, spans, onSelect) {
  const to = (/** @type {Data.spanRow} */ span) => el('button', { type: 'button', class: 'link', onclick: () => onSelect(span.id) }, `${duration(span.took)} at ${duration(span.start)}`);
  const slowest = spans.find((s) => s.id === group.slowest);
  const failed = spans.filter((s) => s.failed);
  return [
    facts([['In all', duration(group.took)], ['Spans', count(group.count)], ['Failed', group.failed && count(group.failed)], ['Spans below them', group.below && count(group.below)],
      ['Critical path', shareOf(request, spans)]]),
    ...(slowest ? [el('h3', {}, 'The slowest'), el('p', { id: 'slowest-span' }, to(slowest))] : []),
    ...(failed.length ? [el('h3', {}, 'Failed'), el('ul', { class: 'waits' }, failed.slice(0, 10).map((s) => el('li', {}, to(s))))] : []),
  ];
}

/**
 * waited is the chosen part of a bar: its longest wait, and who ended it.
 * @param {Segment} wait
 */
function waited(wait) {
  const by = party(wait.by);
  return el('p', { class: 'note', id: 'wait' },
    el('span', { class: 'swatch part', data: { class: wait.class }, 'aria-hidden': 'true' }),
    `${duration(wait.wait ?? 0)} ${wait.kind}`, ...(wait.in ? [' in ', fn(wait.in)] : []), ` from ${duration(wait.start)}`,
    ...(by.length ? [wait.class === 'runnable' ? ', processor used by ' : ', ended by ', ...by] : []), '.',
    wait.by?.request && !wait.by.own && !wait.by.trace ? ' The page has that request no more.' : '');
}

/**
 * @param {string} kind
 * @param {string} name
 */
const title = (kind, name) => el('h2', {}, el('span', { class: `kind ${kind}` }, kind), ' ', bdi(name));

/** @param {([string, string | number | undefined] | false | undefined)[]} pairs */
const facts = (pairs) => list(pairs.filter((p) => p && p[1]).map((p) => /** @type {[string, string]} */ (p)).map(([key, value]) => ({ key, value })));

/** @param {Data.attributeRow[]} pairs */
function list(pairs) {
  return el('dl', {}, pairs.map(({ key, value }) => el('div', {}, el('dt', {}, parted(key)), el('dd', {}, parted(value)))));
}

/**
 * parted is a text that is broken into lines after its dots rather than within its words.
 * @param {string} text
 */
function parted(text) {
  if (text.length > 200) return bdi(text);
  return el('bdi', {}, text.split(/(?<=[._/])/).flatMap((part) => [part, el('wbr')]));
}

/**
 * @param {string} heading
 * @param {Data.attributeRow[] | null | undefined} pairs
 */
function attributes(heading, pairs, folded = false) {
  if (!pairs?.length) return [];
  if (folded) return [el('details', {}, el('summary', {}, `${heading} (${pairs.length})`), list(pairs))];
  return [el('h3', {}, heading), list(pairs)];
}

/** @param {Data.spanRow} span */
function waits(span) {
  if (!span.waits) return [];
  return [
    el('h3', {}, 'Waited, all its goroutines'),
    el('ul', { class: 'waits' }, span.waits.map((w) => {
      const by = party(w.by);
      return el('li', {}, el('span', { class: 'swatch part', data: { class: w.class }, 'aria-hidden': 'true' }),
        `${duration(w.took)} ${w.kind}${w.count > 1 ? ` × ${w.count}` : ''}`, ...(w.in ? [' in ', fn(w.in)] : []),
        ...(by.length ? [w.class === 'runnable' ? ', processor used by ' : ', ended by ', ...by] : []));
    })),
    ...(span.waits_cut ? [el('p', { class: 'muted', id: 'waits-cut' }, `${count(span.waits_cut)} shorter ${span.waits_cut === 1 ? 'one is' : 'ones are'} not shown.`)] : []),
  ];
}

/** @param {Data.spanRow} span */
function ran(span) {
  if (!span.hot) return [];
  const { sampled = 0 } = span;
  return [
    el('h3', {}, `Ran ${duration(sampled)}, by samples${span.several ? ' of several goroutines' : ''}`),
    el('table', { class: 'hottest' },
      el('thead', { class: 'sr' }, el('tr', {}, el('th', { scope: 'col' }, 'Function'), el('th', { scope: 'col' }, 'Share'))),
      el('tbody', {}, span.hot.map((f) => el('tr', {},
        el('th', { scope: 'row', title: f.name }, bdi(f.name)),
        el('td', { class: 'num', title: duration(f.time) }, percent(f.time, sampled)))))),
  ];
}
