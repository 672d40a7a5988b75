// A table of routes with their figures, which can be sorted by its columns. Its rows keep their order while somebody uses it.
import { arrows, bdi, el, element, elements, reconcile, setText, setVars } from './dom.js';
import { count, duration, percent, plural, rate } from './format.js';
import { inUse, onFree } from './requestlist.js';

const most = 12; // routes that are shown at first

/**
 * @typedef {Omit<Data.routeRow, 'route'> & { route?: string | null }} Route null is all together
 *
 * @typedef {object} Table what a table shows
 * @property {Data.routeRow[]} rows
 * @property {string} sort
 * @property {string} [window]
 * @property {string} selected
 * @property {Route | null} all
 *
 * @typedef {object} Column
 * @property {string} name
 * @property {string} title
 * @property {(r: Route) => string} text
 * @property {(r: Route) => number} by
 * @property {(r: Route) => boolean} [bad]
 * @property {(r: Route) => string} [hint]
 * @property {string} [cls]
 */

/** @param {Route} r */
const share = (r) => (r.count ? r.failed / r.count : 0);

// columns have a name in the address, a title, what a cell shows, what it is sorted by, a hint, and a class: columns of "wide", "mid",
// "extra" and "slow-column" are hidden where there is no room, and columns of "few" are narrow there.
/** @type {Column[]} */
const columns = [
  { name: 'rate', title: 'Per s', text: (r) => rate(r.perSecond), by: (r) => r.perSecond, cls: 'few' },
  { name: 'count', title: 'Count', text: (r) => count(r.count), by: (r) => r.count, cls: 'mid' },
  { name: 'failed', title: 'Errors', text: (r) => count(r.failed), by: (r) => r.failed, bad: (r) => r.failed > 0, cls: 'mid extra' },
  { name: 'share', title: 'Failed', text: (r) => (r.failed ? percent(r.failed, r.count) : '0'), by: share, bad: (r) => r.failed > 0, cls: 'few' },
  { name: 'p50', title: 'p50', text: (r) => duration(r.p50), by: (r) => r.p50 },
  { name: 'p95', title: 'p95', text: (r) => duration(r.p95), by: (r) => r.p95, cls: 'mid' },
  { name: 'p99', title: 'p99', text: (r) => duration(r.p99), by: (r) => r.p99 },
  { name: 'max', title: 'Max', text: (r) => duration(r.max), by: (r) => r.max, cls: 'mid' },
  { name: 'slow', title: 'Slow from', text: (r) => (r.slowFrom === undefined ? '' : duration(r.slowFrom)), by: (r) => r.slowFrom ?? Infinity, hint: (r) => r.slow ?? '', cls: 'slow-column' },
];

const usual = '-count';

/**
 * sorted returns rows by "name" ascending or "-name" descending; by anything else as usual.
 * @param {Data.routeRow[]} rows
 * @param {string} sort
 * @returns {Data.routeRow[]}
 */
export function sorted(rows, sort) {
  const is = (/** @type {Column} */ c) => c.name === sort.replace(/^-/, '');
  if (sort.replace(/^-/, '') !== 'route' && !columns.some(is)) return sorted(rows, usual);
  const sign = sort.startsWith('-') ? -1 : 1;
  const by = columns.find(is)?.by;
  /**
   * @param {Data.routeRow} a
   * @param {Data.routeRow} b
   */
  const names = ({ route: a = '' }, { route: b = '' }) => (a < b ? -1 : a > b ? 1 : 0);
  return [...rows].sort((a, b) => (by ? sign * (by(a) - by(b)) || names(a, b) : sign * names(a, b)));
}

/**
 * nextSort is the order after a click on the head of a column.
 * @param {string} current
 * @param {string} name of the column
 */
export function nextSort(current, name) {
  if (name === 'route') return current === 'route' ? '-route' : 'route';
  return current === `-${name}` ? name : `-${name}`;
}

/**
 * keptOrder returns rows in the order that they had before; new ones are at their end.
 * @param {Data.routeRow[]} rows
 * @param {(string | undefined)[]} before
 */
export function keptOrder(rows, before) {
  const at = new Map(before.map((route, i) => [route, i]));
  return rows.map((r, i) => ({ at: at.get(r.route) ?? before.length + i, r })).sort((a, b) => a.at - b.at).map(({ r }) => r);
}

/**
 * routeTable makes a table. onSort gets the new order; href is the address of a row, or of all with null.
 * @param {string} id
 * @param {string} label
 * @param {object} options
 * @param {(order: string) => void} options.onSort
 * @param {(r: Route) => string} options.href
 * @param {boolean} [options.profile]
 */
export function routeTable(id, label, { onSort, href, profile }) {
  let open = false; // all routes are shown
  /** @type {Table} */
  let shown = { rows: [], sort: '', selected: '', all: null };
  /** @type {(string | undefined)[]} */
  let order = []; // of the rows, as they are

  const header = (/** @type {string} */ name, /** @type {string} */ title, /** @type {string} */ cls) => el('th', { scope: 'col', class: cls, data: { column: name } },
    el('button', { type: 'button', class: 'link', onclick: () => onSort(nextSort(current(), name)) }, title));
  const current = () => shown.sort || usual;

  const total = el('tbody', { class: 'total' });
  const body = el('tbody');
  const more = el('button', { type: 'button', class: 'more', hidden: true, onclick: () => {
    open = !open;
    draw(true);
  } });
  const strip = el('th', { scope: 'col', class: 'wide strip-column' });
  const table = el('table', { class: 'routes', 'aria-label': label },
    el('thead', {}, el('tr', {}, header('route', 'Route', ''), strip,
      columns.map((c) => header(c.name, c.title, `num ${c.cls || ''}`)), profile ? el('td', { class: 'wide' }) : null)),
    total, body);
  arrows(table, 'tbody a.route');
  const waits = el('span', { class: 'held muted', hidden: true }, 'The order waits for you.');
  const node = el('div', { id, tabindex: '-1' }, table, el('p', { class: 'acts under' }, more, waits));
  onFree(body, () => {
    if (node.isConnected) draw(false);
  });

  const make = (/** @type {Route} */ r) => el('tr', {},
    el('th', { scope: 'row', class: 'name' }, el('a', { class: 'route', href: '' }, r.route === null ? 'All requests' : bdi(r.route ?? ''))),
    el('td', { class: 'wide' }, el('span', { class: 'strip', 'aria-hidden': 'true' })),
    columns.map((c) => el('td', { class: `num ${c.cls || ''}`, data: { cell: c.name } })),
    profile ? el('td', { class: 'wide num' }, r.route === null || r.others ? null : el('a', { href: `#/sessions?${new URLSearchParams({ route: r.route ?? '' })}` }, 'profile', el('span', { class: 'sr' }, ` the next ${r.route}`))) : null);

  /**
   * @param {HTMLElement} node
   * @param {Route} r
   */
  function update(node, r) {
    const link = element(node, 'a.route');
    const address = href(r);
    if (link.getAttribute('href') !== address) link.setAttribute('href', address);
    link.title = r.route ?? '';
    const selected = r.route === (shown.selected || null);
    if (selected) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
    for (const c of columns) {
      const cell = element(node, `[data-cell=${c.name}]`);
      setText(cell, c.text(r));
      cell.classList.toggle('lost', Boolean(c.bad?.(r)));
      if (c.hint) cell.title = c.hint(r);
    }
    setVars(element(node, '.strip'), strips(r));
  }

  /** @param {boolean} anew */
  function draw(anew) {
    const { rows, sort, selected, all } = shown;
    let wanted = sorted(rows, sort || usual);
    const still = !anew && inUse(body);
    const now = wanted.map((r) => r.route).join('\n');
    if (still) wanted = keptOrder(wanted, order);
    order = wanted.map((r) => r.route);
    waits.hidden = !still || now === order.join('\n');
    const first = open ? wanted : wanted.filter((r, i) => i < most || r.route === selected);
    reconcile(total, all ? [all] : [], () => 'all', make, update);
    reconcile(body, first, (r) => r.route ?? '', make, update);
    more.hidden = wanted.length <= most;
    setText(more, open ? `Only ${most} routes` : `All ${plural(wanted.length, 'route')}`);
    for (const th of elements(table, '[data-column]')) {
      const name = current().replace(/^-/, '');
      if (th.dataset.column !== name) th.removeAttribute('aria-sort');
      else th.setAttribute('aria-sort', current().startsWith('-') ? 'descending' : 'ascending');
    }
  }

  return {
    node,
    /** @param {Table} next */
    update(next) {
      const anew = next.sort !== shown.sort;
      shown = next;
      setText(strip, next.window === 'start' ? 'Since the start' : 'Last 5 minutes');
      draw(anew);
    },
  };
}

/**
 * strips are the columns of a row's time as backgrounds: the darker, the more requests, and a line
 * below for failures.
 * @param {Route} r
 */
export function strips(r) {
  const greatest = Math.max(1, ...r.strip);
  const part = (/** @type {string[]} */ colours) => {
    const n = colours.length || 1;
    return `linear-gradient(to right, ${(colours.length ? colours : ['transparent']).map((c, i) => `${c} ${((100 * i) / n).toFixed(2)}% ${((100 * (i + 1)) / n).toFixed(2)}%`).join(', ')})`;
  };
  const failed = new Set(r.failedIn);
  return {
    strip: part(r.strip.map((n) => (n ? `var(--heat${Math.max(1, Math.ceil((6 * n) / greatest))})` : 'transparent'))),
    failures: part(r.strip.map((_, i) => (failed.has(i) ? 'var(--bad)' : 'transparent'))),
  };
}
