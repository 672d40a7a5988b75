// The requests: whether the process is well, the routes with their figures and their latency, and the requests in
// memory. Without a question, lists of them follow the program; a question is answered from all that is in memory.
import { el, setText } from './dom.js';
import { count, plural, shown } from './format.js';
import { asker } from './ask.js';
import { deathNote } from './deaths.js';
import { hash, question, read, write } from './address.js';
import { filterForm } from './filter.js';
import { healthLine } from './health.js';
import { heatMap } from './heatmap.js';
import { requestList } from './requestlist.js';
import { routeTable } from './routetable.js';
import { strayTable } from './strays.js';

// apart are the classes that are no requests with an end of their own.
const apart = [['streams', 'Streams', 'stream'], ['inner', 'Inside other requests', 'request'], ['background', 'In the background', 'root span'], ['housekeeping', 'Pool housekeeping', 'root span']];

const cellFields = ['from', 'to', 'min', 'max'];

/**
 * overview is the view of all requests.
 * @param {import('./main.js').Page} page
 */
export function overview({ main, latest, query }) {
  let state = read(query);
  /** @type {Data.routesData | null} */
  let figures = null; // of the routes since the start, if that is the window
  /** @type {Data.searchAnswer & { question: string } | null} */
  let answer = null; // to the question
  let refused = ''; // the question that the server does not understand
  const summary = () => latest.page?.data === 'summary'; // a summary has no list of requests
  const asking = () => Boolean(question(state)) && !summary();
  const understood = () => asking() && question(state) !== refused;

  const health = healthLine();
  const died = deathNote();
  const form = filterForm(go);
  const heat = heatMap(pickCell, () => !summary());
  const href = (/** @type {string} */ cls) => (/** @type {import('./routetable.js').Route} */ r) => hash({ ...state, route: r.route ?? '', class: r.route === null ? '' : cls, from: '', to: '', min: '', max: '' });
  const sort = { onSort: (/** @type {string} */ order) => go({ sort: order }) };
  const routes = routeTable('routes-table', 'Routes', { ...sort, href: href(''), profile: true });
  const windows = [['', 'Last 5 minutes'], ['start', 'Since the start']].map(([name, title]) =>
    el('button', { type: 'button', data: { window: name || 'minutes' }, onclick: () => go({ window: name }) }, title));
  const noRoutes = el('p', { class: 'muted', hidden: true });
  const slow = el('p', { class: 'muted', id: 'route-slow', hidden: true });
  const routesSection = el('section', { 'aria-labelledby': 'routes-title', id: 'routes' },
    el('div', { class: 'title' }, el('h2', { id: 'routes-title' }, 'Routes'), el('div', { class: 'acts', role: 'group', 'aria-label': 'Time of the figures' }, windows)),
    noRoutes, routes.node, slow);

  /**
   * none returns why a list is empty: requests of the class that ended have figures, but no spans.
   * @param {string} cls
   * @param {string} usual
   */
  const none = (cls, usual) => () => (latest.routes?.routes.some((r) => r.class === cls) ? 'None in memory: the sampler dropped their spans, or memory was full.' : usual);
  /** @type {Record<string, ReturnType<typeof requestList>>} */
  const lists = {
    requests: requestList('recent', 'Most recent', none('requests', 'Nothing yet: requests appear here as soon as they have ended.')),
    slowest: requestList('slowest', 'Slowest of the last hour', none('requests', 'Nothing yet.')),
    kept: requestList('kept', 'Kept: failed, slow, or with an error inside', () => 'Nothing yet.'),
  };
  const matches = requestList('matches', 'Requests found', () => 'No request in memory is like that.');
  const strays = strayTable();
  const others = apart.map(([cls, title, one]) => {
    const table = routeTable(`${cls}-table`, `${title}: figures`, { ...sort, href: href(cls) });
    const list = requestList(`${cls}-list`, 'Most recent', none(cls, 'None in memory.'));
    lists[cls] = list;
    const said = el('span', { class: 'muted' });
    const node = el('details', { id: cls, hidden: true }, el('summary', {}, title, ' ', said), cls === 'background' ? strays.node : null, table.node, list.section);
    return { cls, one, table, list, said, node };
  });
  const live = el('div', { class: 'overview', id: 'live' }, lists.requests.section, el('div', {}, lists.kept.section, lists.slowest.section));
  matches.section.hidden = true;

  main.append(
    el('h1', { class: 'sr' }, 'Requests'), died.node, health.nodes[0], health.nodes[1],
    el('div', { class: 'figures' }, routesSection, heat.node),
    form.node, live, matches.section,
    el('div', { class: 'apart' }, others.map((o) => o.node)));

  const start = asker((/** @type {Data.routesData} */ d) => {
    figures = d;
    drawRoutes();
  });
  const mapTitle = () => shown(state.route) || 'all requests';
  const map = asker((/** @type {Data.heatData} */ d) => {
    heat.update({ ...d, of: mapPath() }, mapTitle());
    say();
  }, (error) => heat.fail(mapPath(), mapTitle(), error));
  const found = asker((/** @type {Data.searchAnswer} */ d) => {
    answer = { ...d, question: question(state) };
    refused = '';
    matches.section.hidden = false;
    form.complain(null);
    drawFound();
  }, (error) => {
    answer = null;
    refused = error.field ? question(state) : '';
    matches.section.hidden = !understood();
    form.complain(error);
    form.said(error.field === undefined || ['from', 'to'].includes(error.field) ? error.message : '');
  });

  const mapPath = () => `data/v1/routes/heat?${new URLSearchParams({ route: state.route, class: state.class || 'requests', window: state.window || 'minutes' })}`;

  function drawHealth() {
    if (latest.routes?.health) health.update(latest.routes.health, latest.runtime?.samples ?? []);
  }

  function drawRoutes() {
    const data = state.window === 'start' ? figures : latest.routes;
    if (!data) return;
    for (const button of windows) button.setAttribute('aria-pressed', String(button.dataset.window === (state.window || 'minutes')));
    const of = (/** @type {string} */ cls) => data.routes.filter((r) => r.class === cls);
    const table = { sort: state.sort, window: state.window };
    const isOf = (/** @type {string} */ cls) => (state.class || 'requests') === cls;
    const rows = of('requests');
    routes.node.hidden = rows.length === 0;
    noRoutes.hidden = rows.length > 0;
    setText(noRoutes, state.window === 'start' ? 'No request has ended yet.' : 'No request ended in the last 5 minutes.');
    routes.update({ ...table, rows, selected: isOf('requests') ? state.route : ' ', all: data.all && { ...data.all, route: null } });
    const one = isOf('requests') && rows.find((r) => r.route === state.route);
    slow.hidden = !one || !one.slow;
    if (one && one.slow) setText(slow, `Requests of ${shown(state.route)} are ${one.slow}.`);
    strays.update(latest.routes?.strays ?? null);
    for (const o of others) {
      const mine = of(o.cls);
      o.node.hidden = mine.length === 0 && !listed(o.cls).length && !(o.cls === 'background' && latest.routes?.strays);
      o.table.node.hidden = mine.length === 0;
      setText(o.said, `${plural(mine.length, 'route')}, ${plural(mine.reduce((sum, r) => sum + r.count, 0), o.one)}`);
      o.table.update({ ...table, rows: mine, selected: isOf(o.cls) ? state.route || ' ' : ' ', all: null });
    }
    const classes = state.class ? [state.class] : ['requests', 'streams', 'inner'];
    form.suggest([...new Set(data.routes.filter((r) => classes.includes(r.class)).map((r) => r.route ?? ''))]);
  }

  /**
   * listed returns the requests of a list. A summary has none.
   * @param {string} name
   * @returns {Data.keptRow[]}
   */
  const listed = (name) => {
    /** @type {Record<string, any>} */
    const data = latest.requests && 'requests' in latest.requests ? latest.requests : {};
    return data[name] ?? [];
  };

  function drawLists() {
    if (!latest.requests || !('requests' in latest.requests)) return;
    for (const [name, list] of Object.entries(lists)) list.update(listed(name));
    lists.kept.section.hidden = listed('kept').length === 0;
  }

  function drawFound() {
    if (answer?.question !== question(state)) return;
    matches.update(answer.requests, answer.question);
    say();
  }

  // say tells how many requests there are to the question, and how many of them are in memory.
  function say() {
    if (!asking()) {
      form.said('');
      return;
    }
    if (answer?.question !== question(state)) return;
    const n = answer.requests.length;
    const inCell = state.from ? heat.countOf(Object.fromEntries([...cellFields, 'status'].map((f) => [f, state[f]]))) : null;
    if (inCell !== null) form.said(`${count(n)} of ${plural(inCell, 'request')} of this cell ${n === 1 ? 'is' : 'are'} in memory`);
    else form.said(`${count(n)}${answer.more ? ' and more' : ''} of ${plural(answer.inMemory, 'request')} in memory`);
  }

  // ask asks for what the stream does not bring.
  function ask() {
    if (state.window === 'start') start.ask('data/v1/routes?window=start');
    map.ask(mapPath());
    if (understood()) found.ask(`data/v1/requests?${question(state)}`);
    else found.stop();
  }

  function show() {
    form.show(state);
    form.node.hidden = summary();
    for (const o of others) o.list.section.hidden = summary();
    heat.pick(Object.fromEntries([...cellFields, 'status'].map((f) => [f, state[f]])));
    live.hidden = asking() || summary();
    matches.section.hidden = !understood();
    if (!asking()) form.complain(null);
    drawRoutes();
    drawFound();
    say();
    ask();
  }

  /**
   * pickCell asks for the requests of a cell, or with null for all again. The map is of one class.
   * @param {State | null} fields
   */
  function pickCell(fields) {
    const { class: cls } = state;
    const none = { ...Object.fromEntries(cellFields.map((f) => [f, ''])), ...(state.status === 'error' && { status: '' }) };
    go(fields ? { ...none, ...fields, class: cls || 'requests' } : { ...none, class: cls === 'requests' ? '' : cls }, true);
  }

  /**
   * @typedef {import('./address.js').State} State
   * @param {Partial<State>} changed
   */
  function go(changed, push = false) {
    const next = /** @type {State} */ ({ ...state, ...changed });
    if (!write(hash(next), push)) return;
    state = next;
    show();
  }

  for (const [name, list] of Object.entries(lists)) list.onFree(() => {
    if (list.section.isConnected && latest.requests && 'requests' in latest.requests) list.update(listed(name));
  });
  matches.onFree(() => {
    if (matches.section.isConnected) drawFound();
  });

  /** @param {string} kind */
  function update(kind) {
    if (kind === 'page') show();
    if (kind === 'requests') drawLists();
    if (kind === 'runtime') drawHealth();
    if (kind === 'deaths') died.update(latest.deaths ?? []);
    if (kind !== 'routes' || !latest.routes) return;
    drawHealth();
    drawRoutes();
    drawLists(); // an empty list says why
    ask();
  }
  drawLists();
  show();
  drawHealth();
  died.update(latest.deaths ?? []);
  return {
    update,
    /** @param {URLSearchParams} params */
    go(params) {
      form.stop(); // the reader has followed a link since
      state = read(params);
      show();
      return true;
    },
    leave() {
      form.stop();
      for (const asks of [start, map, found]) asks.stop();
    },
  };
}
