// The heat map of a route: columns of time, rows of durations, the darker the more requests. It stands still while somebody uses it.
import { el, setText, setVars } from './dom.js';
import { count, duration, plural, time } from './format.js';
import { inUse, onFree } from './requestlist.js';

const shades = 6;

/** steps returns the least count of each shade, up to the greatest count of a cell. */
export function steps(greatest) {
  const all = [];
  for (let i = 0; i < shades; i++) {
    const least = Math.max((all.at(-1) ?? 0) + 1, i && Math.ceil(greatest ** (i / shades)));
    if (least > greatest) break;
    all.push(least);
  }
  return all;
}

const shade = (n, all) => all.filter((least) => n >= least).length;

/** heatMap makes one. If canPick returns true, onPick gets the fields of the requests of a cell; with none, the cell is not picked any more. */
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
  let data = null; // that is shown
  let next = null; // that waits
  let picked = {}; // fields of the cell that is picked
  let used = grid; // the last cell that got the pointer or the focus
  let at = { row: -1, column: -1 }; // the cell that the tab key reaches

  const hint = () => `Point at a cell, or go there with the arrow keys.${canPick() ? ' A click or Enter lists its requests.' : ''}`;
  const cell = (row, column) => grid.children[row]?.children[column + 1];
  const place = (target) => {
    const hit = target.closest?.('[role=gridcell]');
    return hit && { row: [...grid.children].indexOf(hit.parentElement), column: [...hit.parentElement.children].indexOf(hit) - 1 };
  };

  // Row 0 has failures, the others have durations, the longest first.
  const rows = () => data.bounds.length; // one bound more than rows of durations
  const durationRow = (row) => data.bounds.length - 1 - row;
  const number = (row, column) => (row === 0 ? data.failed[column] : data.counts[column][durationRow(row)]);
  const from = (column) => data.start + column * data.step;
  const edges = (row) => [data.bounds[durationRow(row)], data.bounds[durationRow(row) + 1]];
  const range = (row) => (row === 0 ? 'failed' : `${duration(edges(row)[0])} to ${duration(edges(row)[1])}`);
  const text = (row, column) => `${time(from(column))} to ${time(from(column + 1))}, ${range(row)}: ${number(row, column) ? plural(number(row, column), 'request') : 'none'}`;
  function fieldsOf(row, column) {
    const f = { from: String(from(column)), to: String(from(column + 1)), min: '', max: '' };
    if (row === 0) return { ...f, status: 'error' };
    const [min, max] = edges(row);
    return { ...f, min: min ? `${min}ms` : '', max: `${max}ms` };
  }
  const isPicked = (row, column) => Boolean(picked.from) && Object.entries(fieldsOf(row, column)).every(([k, v]) => picked[k] === v) && (row === 0 || picked.status !== 'error');

  // draw shows data; without rows, it shows the reason.
  function draw(d, reason = 'No request ended in this time.') {
    const fresh = !data || grid.children.length !== d.bounds.length || data.failed.length !== d.failed.length;
    data = d;
    const empty = d.bounds.length === 0;
    for (const part of [grid, axis, about, legend]) part.hidden = empty;
    none.hidden = !empty;
    setText(none, reason);
    if (empty) return;
    if (fresh) build();
    const greatest = Math.max(1, ...d.counts.flat());
    const levels = steps(greatest);
    const every = Math.ceil((rows() - 1) / 8); // rows of an axis label
    for (let row = 0; row < rows(); row++) {
      const header = grid.children[row].firstChild;
      setText(header.firstChild, range(row));
      const up = durationRow(row);
      setText(header.lastChild, row === 0 ? 'failed' : up % every === 0 ? duration(edges(row)[0]) : '');
      for (let column = 0; column < d.failed.length; column++) {
        const node = cell(row, column);
        const n = number(row, column);
        const level = String(row === 0 ? (n ? 'failed' : 0) : shade(n, levels));
        if (node.dataset.level !== level) node.dataset.level = level;
        const label = text(row, column);
        if (node.getAttribute('aria-label') !== label) node.setAttribute('aria-label', label);
      }
    }
    if (!cell(at.row, at.column)) rove({ row: rows() - 1, column: d.failed.length - 1 });
    const middle = Math.floor(d.failed.length / 2);
    axis.replaceChildren(...[0, middle, d.failed.length].map((i) => el('span', {}, time(from(i)))));
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
    for (let row = 0; row < rows(); row++) {
      for (let column = 0; column < data.failed.length; column++) cell(row, column).setAttribute('aria-selected', String(isPicked(row, column)));
    }
    say();
  }

  // say describes the cell that got the pointer or the focus last, or the one that is picked.
  function say(target = used.matches(':hover, :focus') ? used : document.activeElement) {
    used = target;
    const p = place(target) ?? place(grid.querySelector('[aria-selected=true]') ?? grid);
    setText(about, p ? text(p.row, p.column) : hint());
  }

  function rove(to) {
    cell(at.row, at.column)?.setAttribute('tabindex', '-1');
    at = to;
    cell(at.row, at.column).setAttribute('tabindex', '0');
  }

  function pick(p) {
    if (!p) return;
    rove(p);
    if (canPick()) onPick(isPicked(p.row, p.column) ? null : fieldsOf(p.row, p.column));
  }

  grid.addEventListener('click', (event) => pick(place(event.target)));
  grid.addEventListener('pointerover', (event) => say(event.target));
  grid.addEventListener('pointerleave', () => say(document.activeElement));
  grid.addEventListener('focusin', (event) => {
    const p = place(event.target);
    if (p) rove(p);
    say(event.target);
  });
  grid.addEventListener('keydown', (event) => {
    if (event.altKey || event.metaKey) return;
    const { row, column } = at;
    const last = { row: rows() - 1, column: data.failed.length - 1 };
    const to = {
      ArrowUp: { row: row - 1, column }, ArrowDown: { row: row + 1, column }, ArrowLeft: { row, column: column - 1 }, ArrowRight: { row, column: column + 1 },
      Home: { row: event.ctrlKey ? 0 : row, column: 0 }, End: { row: event.ctrlKey ? last.row : row, column: last.column },
      PageUp: { row: 0, column }, PageDown: { row: last.row, column },
    }[event.key];
    if (to) {
      event.preventDefault();
      cell(to.row, to.column)?.focus();
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      pick(at);
    }
  });
  onFree(grid, () => {
    if (!node.isConnected) return;
    free();
    if (data?.bounds.length) say();
  });

  function free() {
    waits.hidden = !next || !inUse(grid);
    if (!next || inUse(grid)) return;
    const d = next;
    next = null;
    draw(d);
  }

  // change shows other data at once.
  function change(d, reason) {
    next = null;
    waits.hidden = true;
    draw(d, reason);
  }

  return {
    node,
    /** update shows data of a route; data of the same route and window waits while the map is in use. */
    update(d, title) {
      setText(name, title);
      if (data && data.of !== d.of) change(d);
      else {
        next = d;
        free();
      }
    },
    /** fail shows the reason why there is no map of a route and window. A map of them that is shown stays. */
    fail(of, title, error) {
      if (data?.of === of) return;
      setText(name, title);
      change({ bounds: [], counts: [], failed: [], of }, error.message);
    },
    /** pick marks the cell that has these fields. */
    pick(fields) {
      picked = fields;
      if (data?.bounds.length) mark();
    },
    /** countOf returns how many requests the cell with these fields has; null if it is not on the map. */
    countOf(fields) {
      const before = picked;
      picked = fields;
      try {
        for (let row = 0; row < (data?.bounds.length ?? 0); row++) {
          for (let column = 0; column < data.failed.length; column++) if (isPicked(row, column)) return number(row, column);
        }
        return null;
      } finally {
        picked = before;
      }
    },
  };
}
