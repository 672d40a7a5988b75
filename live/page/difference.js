// Two profiles compared: a flame graph whose colours say on which side a function ran longer, and a table.
import { bdi, el } from './dom.js';
import { duration, percent, plural } from './format.js';
import { flame } from './flame.js';
import { functionTable, hiddenNote, moduleColumn, nameColumn, placeColumn } from './functions.js';

/**
 * difference shows what data/v1/profile/difference answered.
 * @param {Data.difference} d
 * @param {object} options
 * @param {{ sort?: string, filter?: string }} options.state
 * @param {(state: { sort: string, filter: string }) => void} options.onState
 * @param {string} options.search
 * @param {(words: string) => void} options.onSearch
 * @param {(name: string) => string} options.address
 */
export function difference(d, { state, onState, search, onSearch, address }) {
  const amount = (/** @type {number} */ x) => (d.perRequest ? duration(x) : percent(x, 1));
  const change = (/** @type {Data.amountPair} */ pair) => changeOf(pair, d.perRequest);
  if (d.a.samples === 0 && d.b.samples === 0) return [el('p', { class: 'muted', id: 'difference-empty' }, 'There are no samples of both.')];
  const graph = {
    ...d.a, title: '', hidden: '', samples: d.a.samples + d.b.samples, functions: d.functions, cut: d.cut, cutTime: 0,
    nodes: d.nodes.map((n) => ({ parent: n.parent, function: n.function, total: n.total.a + n.total.b, self: n.self.a + n.self.b, pair: n.total })),
  };
  /**
   * @typedef {Data.functionDifference & { f: Data.functionRow }} Row
   * @typedef {import('./functions.js').Column<Row>} Column
   */

  /**
   * @param {'self' | 'total'} key
   * @param {'a' | 'b'} side
   * @param {string} head
   * @returns {Column}
   */
  const pair = (key, side, head) => ({
    key: `${key}-${side}`, head, number: true, cls: key === 'total' ? 'num wide' : 'num', sort: (r) => r[key][side], cell: (r) => amount(r[key][side]),
  });
  /**
   * @param {'self' | 'total'} key
   * @param {string} head
   * @returns {Column}
   */
  const changed = (key, head) => ({
    key, head, number: true, cls: key === 'total' ? 'num wide' : 'num', sort: (r) => Math.abs(r[key].a - r[key].b),
    cell: (r) => el('span', { class: `change ${shade(r[key])}` }, change(r[key])),
  });
  const side = (/** @type {string} */ name, /** @type {Data.profileHead} */ head) => el('li', {}, el('strong', {}, `${name}: `), bdi(head.title),
    `, ${duration(head.total)} in ${plural(head.samples, 'sample')}${head.requests ? ` of ${plural(head.requests, 'request')}` : ''}`);
  return [
    el('ul', { class: 'files', id: 'difference-sides' }, side('A', d.a), side('B', d.b)),
    el('p', { class: 'muted' }, d.perRequest ? 'Times are of one request: the time of each side by its number of requests.'
      : 'Numbers are shares of the whole time of each side, because the number of requests is not known on both sides.'),
    el('ul', { class: 'legend', 'aria-label': 'Colours' },
      [['more3', 'more in A'], ['less3', 'less in A'], ['same', 'the same']].map(([cls, text]) => el('li', {}, el('span', { class: `swatch ${cls}`, 'aria-hidden': 'true' }), text))),
    flame(graph, {
      id: 'flame', label: 'Flame graph of the difference', search, onSearch, address, legend: false,
      text: ({ pair = none }) => `A ${amount(pair.a)}, B ${amount(pair.b)}, ${change(pair)}`, shade: ({ pair = none }) => shade(pair),
      note: 'The width is the sum of both sides.',
    }),
    functionTable({
      id: 'changes', caption: 'Functions by their change', rows: d.table.map((r) => ({ ...r, f: d.functions[r.function] })), state, onState,
      columns: [nameColumn(address), changed('self', 'Change of self'), pair('self', 'a', 'Self A'), pair('self', 'b', 'Self B'),
        changed('total', 'Change of total'), pair('total', 'a', 'Total A'), pair('total', 'b', 'Total B'), moduleColumn, placeColumn],
    }),
    d.tableCut ? el('p', { class: 'muted' }, `Not listed: ${plural(d.tableCut, 'function')} with a smaller change.`) : null,
    hiddenNote(d.a), d.b.hidden !== d.a.hidden ? hiddenNote(d.b) : null,
  ].filter((node) => node !== null);
}

const none = { a: 0, b: 0 };

/**
 * changeOf is the amount of A minus the amount of B in words.
 * @param {Data.amountPair} pair
 * @param {boolean} perRequest
 */
export function changeOf({ a, b }, perRequest) {
  const x = a - b;
  if (Math.abs(x) < (perRequest ? 1e-6 : 5e-4)) return 'the same';
  return `${x > 0 ? '+' : '−'}${perRequest ? duration(Math.abs(x)) : `${(100 * Math.abs(x)).toFixed(1)} points`}`;
}

/**
 * shade is the class of a colour: in three steps from the same to all on one side.
 * @param {Data.amountPair} pair
 */
export function shade({ a, b }) {
  const share = a + b > 0 ? (a - b) / (a + b) : 0;
  const step = Math.abs(share) < 0.05 ? 0 : Math.abs(share) < 0.25 ? 1 : Math.abs(share) < 0.6 ? 2 : 3;
  return step === 0 ? 'same' : `${share > 0 ? 'more' : 'less'}${step}`;
}
