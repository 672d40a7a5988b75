// The functions of a profile as a table.
import { el } from './dom.js';
import { duration, percent, plural } from './format.js';
import { functionTable, hiddenNote, moduleColumn, nameColumn, placeColumn } from './functions.js';

/**
 * top shows what data/v1/profile/functions answered. address is the address of a function's sandwich.
 * @param {Data.functionTable} table
 * @param {object} options
 * @param {{ sort?: string, filter?: string }} options.state
 * @param {(state: { sort: string, filter: string }) => void} options.onState
 * @param {(name: string) => string} options.address
 */
export function top(table, { state, onState, address }) {
  if (table.samples === 0) return [el('p', { class: 'muted', id: 'top-empty' }, 'There are no samples of this.')];
  /**
   * @param {'self' | 'total'} key
   * @param {string} head
   * @returns {import('./functions.js').Column<import('./functions.js').FunctionOf>}
   */
  const time = (key, head) => ({
    key, head, number: true, cls: 'num', sort: (r) => r.f[key], cell: (r) => el('span', { title: percent(r.f[key], table.total) }, duration(r.f[key]), el('span', { class: 'muted wide' }, ` ${percent(r.f[key], table.total)}`)),
  });
  return [
    functionTable({
      id: 'top', caption: `Functions of ${table.title}`, rows: table.functions.map((f) => ({ f })), state, onState,
      columns: [nameColumn(address), time('self', 'Self'), time('total', 'Total'), moduleColumn, placeColumn],
    }),
    el('p', { class: 'muted' }, table.cut ? `Not listed: ${plural(table.cut, 'function')} with ${duration(table.cutSelf)} in themselves. ` : '',
      'Self is the time in the function itself, Total the time with its calls. A function opens its callers and callees.'),
    hiddenNote(table),
  ].filter((node) => node !== null);
}
