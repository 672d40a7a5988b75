// Functions: how they are named, whose they are, and tables of them that the user sorts and filters.
import { arrows, bdi, el, off, setText } from './dom.js';
import { count, percent, plural } from './format.js';

/**
 * withoutPath is what a bar has room for: the name without the folders of its package.
 * @param {string} name
 */
export function withoutPath(name) {
  const end = name.search(/[[(]/); // of type arguments and receivers, which may have folders too
  return name.slice(name.lastIndexOf('/', end < 0 ? name.length : end) + 1);
}

/**
 * moduleOf is the module of a function with its version.
 * @param {Data.functionRow} f
 */
export function moduleOf(f) {
  if (!f.module) return f.kind === 'dep' ? 'unknown module' : '';
  const name = f.module === 'std' ? 'standard library' : f.module;
  return f.version ? `${name} ${f.version}` : name;
}

/**
 * placeOf is the file and line at which a function begins.
 * @param {Data.functionRow} f
 */
export const placeOf = (f) => (f.file ? `${f.file.slice(f.file.lastIndexOf('/') + 1)}${f.line ? `:${f.line}` : ''}` : '');

/**
 * matches reports whether a function has the words, in lower case, in its name, module or file.
 * @param {Data.functionRow} f
 * @param {string} words
 */
export const matches = (f, words) => words !== '' && `${f.name} ${moduleOf(f)} ${f.file || ''}`.toLowerCase().includes(words);

const mostModules = 6; // that a legend names

/**
 * legend explains the colours of the functions by the modules that they have.
 * @param {Data.functionRow[]} functions
 */
export function legend(functions) {
  const of = (/** @type {string} */ kind) => [...new Set(functions.filter((f) => f.kind === kind).map(moduleOf))].filter(Boolean).sort();
  const item = (/** @type {string} */ kind, /** @type {string} */ text, /** @type {string[]} */ modules) => modules.length === 0 ? null : el('li', { title: modules.join('\n') },
    el('span', { class: `swatch ${kind}`, 'aria-hidden': 'true' }), text, bdi(modules.slice(0, mostModules).join(', ')),
    modules.length > mostModules ? ` and ${count(modules.length - mostModules)} more` : '');
  return el('ul', { class: 'legend', 'aria-label': 'Colours' }, [
    item('own', 'this program: ', of('own')), item('dep', 'other modules: ', of('dep')), item('std', '', of('std')),
    item('runtime', 'runtime of the ', of('runtime')),
  ].filter(Boolean));
}

/**
 * hiddenNote is what a profile lacks because of its modules, or null.
 * @param {{ hidden?: string, noStack?: number, total: number }} head
 */
export function hiddenNote(head) {
  if (!head.hidden) return null;
  return el('p', { class: 'note hidden-functions' },
    head.noStack ? `[no stack] is ${percent(head.noStack, head.total)} of the time. ` : '', bdi(head.hidden), ' Policy.Modules in the program sets which modules may be shown.');
}

const page = 200; // rows at a time

/**
 * @typedef {{ f: Data.functionRow }} FunctionOf
 */

/**
 * @template {FunctionOf} R
 * @typedef {object} Column
 * @property {string} key
 * @property {string} head
 * @property {string} cls
 * @property {boolean} [number]
 * @property {(row: R) => string | number} sort
 * @property {(row: R) => unknown} cell
 */

/**
 * nameColumn, moduleColumn and placeColumn are of all tables of functions.
 * @param {(name: string) => string} address
 * @returns {Column<any>}
 */
export const nameColumn = (address) => ({
  key: 'name', head: 'Function', cls: 'name', sort: (r) => r.f.name, cell: (r) => el('a', { href: address(r.f.name), title: r.f.name }, bdi(withoutPath(r.f.name))),
});
/** @type {Column<any>} */
export const moduleColumn = {
  key: 'module', head: 'Module', cls: 'module wide', sort: (r) => moduleOf(r.f),
  cell: (r) => el('span', { title: moduleOf(r.f) }, el('span', { class: `swatch ${r.f.kind || 'none'}`, 'aria-hidden': 'true' }), bdi(moduleOf(r.f))),
};
/** @type {Column<any>} */
export const placeColumn = {
  key: 'place', head: 'File and line', cls: 'place wide', sort: (r) => `${r.f.file || ''}:${String(r.f.line || 0).padStart(8, '0')}`,
  cell: (r) => el('span', { title: r.f.file || '' }, bdi(placeOf(r.f)), r.f.hotLine ? el('span', { class: 'muted' }, `, most at ${r.f.hotLine}`) : ''),
};

/**
 * sortOf is the order that a table has: that of its address if it has such a column, else that of
 * its first column of numbers.
 * @template {FunctionOf} R
 * @param {Column<R>[]} columns
 * @param {string | undefined} wanted
 */
export function sortOf(columns, wanted) {
  const known = columns.some((c) => c.key === wanted?.replace(/^-/, ''));
  return wanted !== undefined && known ? wanted : columns.find((c) => c.number)?.key ?? columns[0].key;
}

/**
 * sorted returns the rows that have the words, by the column of an order. Numbers begin with the
 * largest, texts with A; after a minus the other way.
 * @template {FunctionOf} R
 * @param {R[]} rows
 * @param {Column<R>[]} columns
 * @param {string} sort
 * @param {string} words
 */
export function sorted(rows, columns, sort, words) {
  const column = columns.find((c) => c.key === sort.replace(/^-/, '')) ?? columns[0];
  const down = Boolean(column.number) !== sort.startsWith('-');
  const list = rows.filter((r) => !words || matches(r.f, words)).sort((a, b) => {
    const [x, y] = [column.sort(a), column.sort(b)];
    const order = typeof x === 'string' ? x.localeCompare(String(y), 'en') : x - Number(y);
    return (down ? -order : order) || a.f.name.localeCompare(b.f.name, 'en');
  });
  return { list, column, down };
}

/**
 * functionTable is a table of rows that a click on a head sorts: numbers the largest first. onState
 * gets the state when the user changes it.
 * @template {FunctionOf} R
 * @param {object} options
 * @param {string} options.id
 * @param {string} options.caption
 * @param {Column<R>[]} options.columns
 * @param {R[]} options.rows
 * @param {{ sort?: string, filter?: string }} options.state
 * @param {(state: { sort: string, filter: string }) => void} options.onState
 */
export function functionTable({ id, caption, columns, rows, state, onState }) {
  let { filter = '' } = state;
  let sort = sortOf(columns, state.sort);
  let most = page;
  const body = el('tbody');
  arrows(body, 'th a');
  const found = el('output', { class: 'muted', id: `${id}-found`, for: `${id}-filter` });
  const input = el('input', { type: 'search', id: `${id}-filter`, autocomplete: 'off', spellcheck: 'false', placeholder: 'name, module or file', value: filter, oninput: () => {
    filter = input.value;
    most = page;
    change();
  } });
  const heads = columns.map((c) => el('th', { scope: 'col', class: c.cls }, el('button', { type: 'button', class: 'link', data: { sort: c.key }, onclick: () => {
    sort = sort === c.key ? `-${c.key}` : c.key;
    change();
  } }, c.head)));
  const more = el('button', { type: 'button', id: `${id}-more`, onclick: () => {
    const before = most;
    most += page;
    draw();
    body.children[before]?.querySelector('a')?.focus();
  } }, `The next ${page}`);

  function change() {
    onState({ sort, filter });
    draw();
  }

  function draw() {
    const words = filter.toLowerCase().trim();
    const { list, column, down } = sorted(rows, columns, sort, words);
    heads.forEach((th, i) => th.setAttribute('aria-sort', columns[i] !== column ? 'none' : down ? 'descending' : 'ascending'));
    body.replaceChildren(...list.slice(0, most).map((r) => el('tr', { data: { name: r.f.name } }, columns.map((c, i) =>
      el(i === 0 ? 'th' : 'td', { class: c.cls, scope: i === 0 ? 'row' : null, data: { column: c.key } }, c.cell(r))))));
    off(more, 'hidden', list.length <= most, body.querySelector('a'));
    setText(found, words ? `${count(list.length)} of ${plural(rows.length, 'function')}` : plural(rows.length, 'function'));
  }
  draw();
  return el('div', { class: 'functions' },
    el('div', { class: 'filter' }, el('label', { for: `${id}-filter` }, 'Filter functions'), input, found),
    el('table', { id }, el('caption', { class: 'sr' }, caption), el('thead', {}, el('tr', {}, heads)), body), more);
}
