// The heat map of a route: columns of time, rows of durations, the darker the more requests. It stands still while somebody uses it.
import { el, setText, setVars, targetOf } from './dom.js';
import { count, duration, plural, time } from './format.js';
import { inUse, onFree } from './requestlist.js';

const shades = 6;

/**
 * @typedef {{ row: number, column: number }} Place of a cell
 * @typedef {Pick<Data.heatData, 'bounds' | 'counts' | 'failed'> & { start?: number, step?: number, of: string }} Map
 */

/**
 * steps returns the least count of each shade, up to the greatest count of a cell.
 * @param {number} greatest
 */
export function steps(greatest) {
  /** @type {number[]} */
  const all = [];
  for (let i = 0; i < shades; i++) {
    const least = Math.max((all.at(-1) ?? 0) + 1, i > 0 ? Math.ceil(greatest ** (i / shades)) : 0);
    if (least > greatest) break;
    all.push(least);
  }
  return all;
}

/**
 * shade is the number of the shade of a count, 0 for none.
 * @param {number} n
 * @param {number[]} all the steps
 */
export const shade = (n, all) => all.filter((least) => n >= least).length;

/**
 * cells describes the cells of a map. Row 0 has failures, the others have durations, the longest first.
 * @param {Map} data
 */
export function cells(data) {
  const { start = 0, step = 0 } = data;
  const rows = data.bounds.length; // one bound more than rows of durations
  /** @param {number} row */
  const durationRow = (row) => rows - 1 - row;
  /** @param {Place} p */
  const number = ({ row, column }) => (row === 0 ? data.failed[column] : data.counts[column][durationRow(row)]);
  /** @param {number} column */
  const from = (column) => start + column * step;
  /** @param {number} row */
  const edges = (row) => [data.bounds[durationRow(row)], data.bounds[durationRow(row) + 1]];
  /** @param {number} row */
  const range = (row) => (row === 0 ? 'failed' : `${duration(edges(row)[0])} to ${duration(edges(row)[1])}`);
  return {
    rows, durationRow, number, from, edges, range,

    /** @param {Place} p */
    text: (p) => `${time(from(p.column))} to ${time(from(p.column + 1))}, ${range(p.row)}: ${number(p) ? plural(number(p), 'request') : 'none'}`,

    /**
     * fields are the fields of the form that find the requests of a cell.
     * @param {Place} p
     * @returns {import('./address.js').State}
     */
    fields({ row, column }) {
      const f = { from: String(from(column)), to: String(from(column + 1)), min: '', max: '' };
      if (row === 0) return { ...f, status: 'error' };
      const [min, max] = edges(row);
      return { ...f, min: min ? `${min}ms` : '', max: `${max}ms` };
    },
  };
}

/**
 * cellByKey is where a key leads from a cell; undefined if it is no such key. The place may be outside
 * of the map.
 * @param {{ key: string, ctrlKey: boolean }} event
 * @param {Place} at
 * @param {Place} last
 * @returns {Place | undefined}
 */
export function cellByKey({ key, ctrlKey }, { row, column }, last) {
  return {
    ArrowUp: { row: row - 1, column }, ArrowDown: { row: row + 1, column }, ArrowLeft: { row, column: column - 1 }, ArrowRight: { row, column: column + 1 },
    Home: { row: ctrlKey ? 0 : row, column: 0 }, End: { row: ctrlKey ? last.row : row, column: last.column },
    PageUp: { row: 0, column }, PageDown: { row: last.row, column },
  }[key];
}

/**
 * heatMap makes one. If canPick returns true, onPick gets the fields of the requests of a cell; with
 * none, the cell is not picked any more.
 * @param {(fields: import('./address.js').State | null) => void} onPick
 * @param {() => boolean} canPick
 */
export function heatMap(onPick, canPick) {
  const grid = el('div', { role: 'grid', class: 'heat', id: 'heat', 'aria-label': 'Requests by time and duration' });
  const axis = el('div', { class: 'heat-axis', 'aria-hidden': 'true' });
  const about = el('p', { class: 'about muted', id: 'heat-about' });
  const legend = el('ul', { class: 'legend', id: 'heat-legend', 'aria-label': 'Requests in a cell' });
  const waits = el('span', { class: 'held muted', hidden: true }, 'The map waits for you.');
  const name = el('bdi', { class: 'muted' });
  const none = el('p', { class: 'muted', id: 'heat-none', hidden: true });
  const node = el('section', { 'aria-labelledby': 'heat-title', id: 'heat-section', tabindex: '-1' },
    el('div', { class: 'title' }, el('h2', { id: 'heat-title' }, 'Latency'), name, waits), none, grid, axis, about, legend);
  /** @type {Map} */
  let data = { bounds: [], counts: [], failed: [], of: '' }; // that is shown
  let of = cells(data);
  /** @type {Map | null} */
  let next = null; // that waits
  /** @type {import('./address.js').State} */
  let picked = {}; // fields of the cell that is picked
  let used = /** @type {Element | null} */ (grid); // the last cell that got the pointer or the focus
  let at = { row: -1, column: -1 }; // the cell that the tab key reaches

  const hint = () => `Point at a cell, or go there with the arrow keys.${canPick() ? ' A click or Enter lists its requests.' : ''}`;
  /** @param {Place} p */
  const cell = ({ row, column }) => /** @type {HTMLElement | undefined} */ (grid.children[row]?.children[column + 1]);
  /** @param {Element | null} target */
  const place = (target) => {
    const hit = target?.closest?.('[role=gridcell]');
    const row = hit?.parentElement;
    return hit && row ? { row: [...grid.children].indexOf(row), column: [...row.children].indexOf(hit) - 1 } : null;
  };

  /** @param {Place} p */
  const isPicked = (p) => Boolean(picked.from) && Object.entries(of.fields(p)).every(([k, v]) => picked[k] === v) && (p.row === 0 || picked.status !== 'error');

  /**
   * draw shows data; without rows, it shows the reason.
   * @param {Map} d
   * @param {string} reason
   */
  function draw(d, reason = 'No request ended in this time.') {
    const fresh = grid.children.length !== d.bounds.length || data.failed.length !== d.failed.length;
    data = d;
    of = cells(d);
    const empty = d.bounds.length === 0;
    for (const part of [grid, axis, about, legend]) part.hidden = empty;
    none.hidden = !empty;
    setText(none, reason);
    if (empty) return;
    if (fresh) build();
    const greatest = Math.max(1, ...d.counts.flat());
    const levels = steps(greatest);
    const every = Math.ceil((of.rows - 1) / 8); // rows of an axis label
    for (let row = 0; row < of.rows; row++) {
      const [spoken, tick] = /** @type {Element} */ (grid.children[row].firstElementChild).children;
      setText(spoken, of.range(row));
      const up = of.durationRow(row);
      setText(tick, row === 0 ? 'failed' : up % every === 0 ? duration(of.edges(row)[0]) : '');
      for (let column = 0; column < d.failed.length; column++) {
        const node = grid.children[row].children[column + 1];
        const n = of.number({ row, column });
        const level = String(row === 0 ? (n ? 'failed' : 0) : shade(n, levels));
        if (node.getAttribute('data-level') !== level) node.setAttribute('data-level', level);
        const label = of.text({ row, column });
        if (node.getAttribute('aria-label') !== label) node.setAttribute('aria-label', label);
      }
    }
    if (!cell(at)) rove({ row: of.rows - 1, column: d.failed.length - 1 });
    const middle = Math.floor(d.failed.length / 2);
    axis.replaceChildren(...[0, middle, d.failed.length].map((i) => el('span', {}, time(of.from(i)))));
    legend.replaceChildren(...levels.map((least, i) => {
      const most = (levels[i + 1] ?? greatest + 1) - 1;
      return el('li', {}, el('span', { class: 'swatch', data: { level: String(i + 1) }, 'aria-hidden': 'true' }), most > least ? `${count(least)} to ${count(most)}` : count(least));
    }), el('li', {}, el('span', { class: 'swatch', data: { level: 'failed' }, 'aria-hidden': 'true' }), 'failed'));
    mark();
  }

  function build() {
    for (const part of [grid, axis]) setVars(part, { columns: data.failed.length });
    grid.replaceChildren(...data.bounds.map((_, row) => el('div', { role: 'row' },
      el('span', { role: 'rowheader' }, el('span', { class: 'sr' }), el('span', { class: 'tick', 'aria-hidden': 'true' })),
      data.failed.map(() => el('span', { role: 'gridcell', tabindex: '-1', data: { failures: row === 0 } })))));
    at = { row: -1, column: -1 };
  }

  function mark() {
    for (let row = 0; row < of.rows; row++) {
      for (let column = 0; column < data.failed.length; column++) cell({ row, column })?.setAttribute('aria-selected', String(isPicked({ row, column })));
    }
    say();
  }

  // say describes the cell that got the pointer or the focus last, or the one that is picked.
  function say(target = used?.matches(':hover, :focus') ? used : document.activeElement) {
    used = target;
    const p = place(target) ?? place(grid.querySelector('[aria-selected=true]') ?? grid);
    setText(about, p ? of.text(p) : hint());
  }

  /** @param {Place} to */
  function rove(to) {
    cell(at)?.setAttribute('tabindex', '-1');
    at = to;
    cell(at)?.setAttribute('tabindex', '0');
  }

  /** @param {Place | null} p */
  function pick(p) {
    if (!p) return;
    rove(p);
    if (canPick()) onPick(isPicked(p) ? null : of.fields(p));
  }

  grid.addEventListener('click', (event) => pick(place(targetOf(event))));
  grid.addEventListener('pointerover', (event) => say(targetOf(event)));
  grid.addEventListener('pointerleave', () => say(document.activeElement));
  grid.addEventListener('focusin', (event) => {
    const p = place(targetOf(event));
    if (p) rove(p);
    say(targetOf(event));
  });
  grid.addEventListener('keydown', (event) => {
    if (event.altKey || event.metaKey) return;
    const to = cellByKey(event, at, { row: of.rows - 1, column: data.failed.length - 1 });
    if (to) {
      event.preventDefault();
      cell(to)?.focus();
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      pick(at);
    }
  });
  onFree(grid, () => {
    if (!node.isConnected) return;
    free();
    if (data.bounds.length) say();
  });

  function free() {
    waits.hidden = !next || !inUse(grid);
    if (!next || inUse(grid)) return;
    const d = next;
    next = null;
    draw(d);
  }

  /**
   * change shows other data at once.
   * @param {Map} d
   * @param {string} [reason]
   */
  function change(d, reason) {
    next = null;
    waits.hidden = true;
    draw(d, reason);
  }

  return {
    node,
    /**
     * update shows data of a route; data of the same route and window waits while the map is in use.
     * @param {Map} d
     * @param {string} title
     */
    update(d, title) {
      setText(name, title);
      if (data.of && data.of !== d.of) change(d);
      else {
        next = d;
        free();
      }
    },
    /**
     * fail shows the reason why there is no map of a route and window. A map of them that is shown stays.
     * @param {string} asked
     * @param {string} title
     * @param {Error} error
     */
    fail(asked, title, error) {
      if (data.of === asked) return;
      setText(name, title);
      change({ bounds: [], counts: [], failed: [], of: asked }, error.message);
    },
    /**
     * pick marks the cell that has these fields.
     * @param {import('./address.js').State} fields
     */
    pick(fields) {
      picked = fields;
      if (data.bounds.length) mark();
    },
    /**
     * countOf returns how many requests the cell with these fields has; null if it is not on the map.
     * @param {import('./address.js').State} fields
     */
    countOf(fields) {
      const before = picked;
      picked = fields;
      try {
        for (let row = 0; row < of.rows; row++) {
          for (let column = 0; column < data.failed.length; column++) if (isPicked({ row, column })) return of.number({ row, column });
        }
        return null;
      } finally {
        picked = before;
      }
    },
  };
}
