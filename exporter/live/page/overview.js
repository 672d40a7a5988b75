// The requests in memory: the newest, those that a policy kept, the slowest, and their routes. A list stands still
// while somebody points at it, has the focus in it or selects text: what moves cannot be hit.
import { bdi, arrows, el, reconcile, setText, setVars } from './dom.js';
import { clock, count, duration, iso, plural } from './format.js';

const path = (r) => `#/requests/${r.trace}/${r.span}`;

export function overview({ main, latest, query }) {
  const text = el('input', { type: 'search', id: 'filter', autocomplete: 'off', spellcheck: 'false', placeholder: 'name, status or trace id', value: query.get('q') || '' });
  const errors = el('input', { type: 'checkbox', id: 'errors', checked: query.has('errors') });
  const found = el('output', { class: 'muted', id: 'found', for: 'filter errors' });
  const recent = requestTable('recent', 'Most recent', 'Nothing yet: requests appear here as soon as they have ended.');
  const slowest = requestTable('slowest', 'Slowest of the last hour', 'Nothing yet.');
  const kept = requestTable('kept', 'Kept: slow or failed', 'Nothing yet.');
  const background = requestTable('background', 'In the background', 'Nothing yet.');
  const routes = routeTable((name) => {
    text.value = name;
    filter();
  });
  const form = el('form', { class: 'filter', role: 'search', onsubmit: (event) => event.preventDefault() },
      el('label', { for: 'filter' }, 'Filter'), text,
      el('span', { class: 'check' }, errors, el('label', { for: 'errors' }, 'errors only')), found);
  main.append(
    el('h1', { class: 'sr' }, 'Requests'), form,
    el('div', { class: 'overview' }, recent.section, el('div', {}, kept.section, slowest.section, routes.section, background.section)),
  );

  function update() {
    const data = latest.requests;
    if (!data) return;
    const words = text.value.toLowerCase().trim();
    const keep = (r) => (!errors.checked || r.failed) && `${r.name} ${r.status || ''} ${r.trace}`.toLowerCase().includes(words);
    const same = `${errors.checked} ${words}`;
    for (const { section } of [recent, slowest]) section.hidden = !data.requests;
    if (!data.requests) { // a summary
      for (const part of [kept.section, background.section, form]) part.hidden = true;
      routes.update(data.routes);
      return;
    }
    recent.update(data.requests, keep, same);
    slowest.update(data.slowest, keep, same);
    kept.section.hidden = data.kept.length === 0;
    kept.update(data.kept, keep, same);
    background.section.hidden = data.background.length === 0;
    background.update(data.background, keep, same);
    routes.update(data.routes);
    setText(found, words || errors.checked ? `${data.requests.filter(keep).length} of ${plural(data.requests.length, 'request')}` : '');
  }
  function filter() {
    const q = new URLSearchParams();
    if (text.value) q.set('q', text.value);
    if (errors.checked) q.set('errors', '1');
    history.replaceState(null, '', `#/${q.size ? `?${q}` : ''}`); // so that it can be linked to, and gone back to
    update();
  }
  text.addEventListener('input', filter);
  errors.addEventListener('change', filter);
  for (const list of [recent, kept, slowest, background]) list.onFree(() => found.isConnected && update());
  update();
  return { update: (kind) => kind === 'requests' && update() };
}

function requestTable(id, title, none) {
  const body = el('tbody');
  const empty = el('p', { class: 'muted', hidden: true });
  const table = el('table', { class: 'requests' },
    el('thead', {}, el('tr', {},
      el('th', { scope: 'col' }, 'Request'), el('th', { scope: 'col' }, 'Status'), el('th', { scope: 'col' }, 'Took'),
      el('th', { scope: 'col', class: 'wide' }, 'Began'), el('th', { scope: 'col', class: 'wide' }, 'Trace'))),
    body);
  arrows(body, 'a');
  const held = el('span', { class: 'held muted', hidden: true });
  const section = el('section', { 'aria-labelledby': `${id}-title`, id, tabindex: '-1' },
    el('div', { class: 'title' }, el('h2', { id: `${id}-title` }, title), held), table, empty);
  let seen = ''; // the filter that the list was made with
  const inUse = () => body.matches(':hover') || body.contains(document.activeElement) ||
    (!getSelection().isCollapsed && body.contains(getSelection().anchorNode));
  return {
    section,
    onFree(update) {
      body.addEventListener('pointerleave', update);
      body.addEventListener('focusout', () => setTimeout(update)); // when the focus has arrived elsewhere
    },
    update(all, keep, filter) {
      const rows = all.filter(keep);
      const still = filter === seen && inUse();
      const newer = still ? rows.filter((r) => !body.querySelector(`[data-key="${r.trace}${r.span}"]`)).length : 0;
      held.hidden = newer === 0;
      setText(held, `${plural(newer, 'other')} since: the list waits for you`);
      if (still) return;
      seen = filter;
      const most = Math.max(...rows.map((r) => r.took), Number.MIN_VALUE);
      reconcile(body, rows, (r) => r.trace + r.span, makeRequest, (node, r) => setVars(node, { share: r.took / most }));
      table.hidden = rows.length === 0;
      empty.hidden = rows.length > 0;
      setText(empty, all.length ? 'None of the requests kept is like that.' : none);
    },
  };
}

function makeRequest(r) {
  return el('tr', { class: r.failed ? 'failed' : '', data: { trace: r.trace, span: r.span } },
    el('th', { scope: 'row', class: 'name' }, el('a', { href: path(r), title: r.name }, bdi(r.name))),
    el('td', { class: 'status' }, r.failed ? el('span', { class: 'badge bad' }, r.status || 'error') : r.status || '', reason(r)),
    el('td', { class: 'took' }, el('span', { class: 'meter', 'aria-hidden': 'true' }), duration(r.took)),
    el('td', { class: 'wide num' }, el('time', { datetime: iso(r.start), title: iso(r.start) }, clock(r.start))),
    el('td', { class: 'wide id', title: r.trace }, r.trace.slice(0, 8)));
}

// reason is why a request was kept, unless its row shows that already.
function reason(r) {
  return r.reason && r.reason !== 'failed' ? el('span', { class: 'badge', title: 'why it is kept' }, r.reason) : '';
}

function routeTable(onPick) {
  const body = el('tbody');
  const cell = (name) => el('td', { class: 'num', data: { cell: name } });
  const make = (r) => el('tr', {},
    el('th', { scope: 'row', class: 'name' }, el('button', { type: 'button', class: 'link', title: `Filter by ${r.name}`, onclick: () => onPick(r.name) }, bdi(r.name))),
    cell('count'), cell('failed'), cell('median'), cell('max'),
    el('td', {}, el('a', { href: `#/sessions?${new URLSearchParams({ route: r.name })}` }, 'profile', el('span', { class: 'sr' }, ` the next ${r.name}`))));
  const section = el('section', { 'aria-labelledby': 'routes-title', id: 'routes', tabindex: '-1' },
    el('h2', { id: 'routes-title' }, 'Routes of these requests'),
    el('table', { class: 'routes' },
      el('thead', {}, el('tr', {}, ['Route', 'Kept', 'Errors', 'Median', 'Longest'].map((h, i) => el('th', { scope: 'col', class: i ? 'num' : '' }, h)), el('td'))),
      body));
  return {
    section,
    update(rows) {
      section.hidden = rows.length === 0;
      reconcile(body, rows, (r) => r.name, make, (node, r) => {
        const values = { count: count(r.count), failed: count(r.failed), median: duration(r.median), max: duration(r.max) };
        for (const td of node.querySelectorAll('[data-cell]')) setText(td, values[td.dataset.cell]);
        node.querySelector('[data-cell=failed]').classList.toggle('lost', r.failed > 0);
      });
    },
  };
}
