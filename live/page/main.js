// The frame of the page: which view is shown, by the address's hash, and what it is told.
import { el, element, elements, setText } from './dom.js';
import { count } from './format.js';
import { arrive } from './address.js';
import { stream } from './stream.js';
import { overview } from './overview.js';
import { request } from './request.js';
import { comparePage } from './compare.js';
import { profilePage } from './profile.js';
import { sessionsPage } from './sessions.js';
import { sessionPage } from './session.js';
import { waitsPage } from './waits.js';
import { counters, lostIn } from './counters.js';
import { deathsPage, ofCrashes } from './deaths.js';
import { runtimePage } from './runtime.js';
import { lastOf, merged } from './history.js';
import { showInstance } from './instance.js';

/**
 * @typedef {object} Page what a view gets
 * @property {HTMLElement} main the element that the view fills
 * @property {Partial<Data.events>} latest
 * @property {(text: string) => void} title once a view knows a better title than that here, it says so
 * @property {string[]} parts of the path
 * @property {URLSearchParams} query
 */

/**
 * @typedef {object} Told what a view may return
 * @property {(kind: string) => void} [update]
 * @property {(query: URLSearchParams) => boolean} [go]
 * @property {() => void} [leave]
 */

/** @type {[RegExp, (page: Page) => Told | void, string, string][]} */
const views = [
  [/^\/$/, overview, 'requests', 'Requests'],
  [/^\/requests\/(\w+)\/(\w+)$/, request, 'requests', 'Request'],
  [/^\/compare$/, comparePage, 'requests', 'Comparison'],
  [/^\/profile$/, profilePage, 'profiles', 'Profiles'],
  [/^\/sessions$/, sessionsPage, 'sessions', 'Sessions'],
  [/^\/sessions\/(\d+)$/, sessionPage, 'sessions', 'Session'],
  [/^\/waits$/, waitsPage, 'waits', 'Waits'],
  [/^\/runtime$/, runtimePage, 'runtime', 'Runtime'],
  [/^\/deaths$/, deathsPage, 'deaths', 'Deaths'],
  [/^\/counters$/, counters, 'counters', 'Counters'],
];

const main = element(document, '#main');
/** @type {Partial<Data.events>} */
const latest = {}; // of each kind of data
/** @type {{ path: string, view?: Told | void } | null} */
let shown = null; // the view's path, and what it returned
let first = true;

function show() {
  const [path, query = ''] = arrive().split('?', 2);
  const before = shown?.view || undefined;
  if (shown?.path === path && before?.go?.(new URLSearchParams(query))) return;
  before?.leave?.();
  main.replaceChildren();
  const found = views.find(([pattern]) => pattern.test(path));
  const [pattern, view, page, title] = found || [/(?:)/, unknown, '', 'Not found'];
  const setTitle = (/** @type {string} */ text) => { document.title = `${text} · perfline`; };
  setTitle(title);
  for (const link of elements(document, '[data-page]')) {
    if (link.dataset.page === page) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const parts = (path.match(pattern) ?? []).slice(1);
  const showing = { path, view: /** @type {Told | void} */ (undefined) };
  shown = showing;
  showing.view = view({ main, latest, title: setTitle, parts, query: new URLSearchParams(query) });
  if (first) first = false;
  else {
    main.focus({ preventScroll: true }); // tells screen readers that there is another page
    scrollTo(0, 0);
  }
}

/** @param {Page} page */
function unknown({ main: into }) {
  into.append(el('h1', {}, 'Not found'), el('p', {}, 'There is no such page. ', el('a', { href: '#/' }, 'All requests')));
}

/**
 * @template {keyof Data.events} K
 * @param {K} kind
 * @param {any} data of the kind
 */
function onData(kind, data) {
  if (kind === 'runtime') data = merged(latest.runtime, data);
  latest[kind] = data;
  if (kind === 'page') onPage(data);
  if (kind === 'requests') setText(element(document, '#service'), data.service);
  if (kind === 'sessions') badge('nav-sessions', data.sessions.filter((/** @type {Data.sessionRow} */ s) => s.state !== 'ready').length, 'under way');
  if (kind === 'waits') element(document, '#nav-waits').hidden = data.status !== 'armed';
  if (kind === 'counts') badge('nav-lost', lostIn(data), 'lost');
  if (kind === 'deaths') onDeaths(data);
  const view = shown?.view || undefined;
  view?.update?.(kind);
}

/**
 * onPage names the process, and hides the links to data that a summary does not have.
 * @param {Data.pageState} page
 */
function onPage(page) {
  showInstance(page);
  const { data } = page;
  const summary = data === 'summary';
  document.body.dataset.data = data;
  element(document, '#data-note').hidden = !summary;
  for (const name of ['sessions', 'profiles', 'waits']) /** @type {HTMLElement} */ (element(document, `[data-page=${name}]`).parentElement).hidden = summary;
}

/**
 * onDeaths shows the link to the reports about earlier processes, if there is one.
 * @param {Data.deathRow[]} all
 */
function onDeaths(all) {
  /** @type {HTMLElement} */ (element(document, '[data-page=deaths]').parentElement).hidden = all.length === 0;
  badge('nav-deaths', ofCrashes(all).length, '');
}

/**
 * @param {string} id
 * @param {number} n
 * @param {string} what
 */
function badge(id, n, what) {
  const node = element(document, `#${id}`);
  node.hidden = n === 0;
  setText(node, `${count(n)} ${what}`.trim());
}

/** @type {Record<string, string>} */
const words = { live: 'live', connecting: 'connecting…', polling: 'live, every 3 s', paused: 'paused', offline: 'no connection: trying again' };
const state = element(document, '#stream-state');
const live = stream(onData, (s) => {
  state.dataset.state = s;
  setText(state, words[s]);
}, () => lastOf(latest.runtime));

const pause = element(document, '#pause');
pause.addEventListener('click', () => {
  const on = pause.getAttribute('aria-pressed') !== 'true';
  pause.setAttribute('aria-pressed', String(on));
  live.pause(on);
});
element(document, '#skip').addEventListener('click', (event) => {
  event.preventDefault(); // the hash is the view's
  main.focus();
});
addEventListener('hashchange', show);
show();
