// The frame of the page: which view is shown, by the address's hash, and what it is told.
import { el, setText } from './dom.js';
import { count } from './format.js';
import { arrive } from './address.js';
import { stream } from './stream.js';
import { overview } from './overview.js';
import { request } from './request.js';
import { comparePage } from './compare.js';
import { profilePage } from './profile.js';
import { sessionsPage } from './sessions.js';
import { sessionPage } from './session.js';
import { flightPage } from './flight.js';
import { counters } from './counters.js';
import { runtimePage } from './runtime.js';
import { lastOf, merged } from './history.js';

// A view fills an element and may return { update(kind), leave() }; once it knows a better title
// than that here, it says so.
const views = [
  [/^\/$/, overview, 'requests', 'Requests'],
  [/^\/requests\/(\w+)\/(\w+)$/, request, 'requests', 'Request'],
  [/^\/compare$/, comparePage, 'requests', 'Comparison'],
  [/^\/profile$/, profilePage, 'profiles', 'Profiles'],
  [/^\/sessions$/, sessionsPage, 'sessions', 'Sessions'],
  [/^\/sessions\/(\d+)$/, sessionPage, 'sessions', 'Session'],
  [/^\/waits$/, flightPage, 'waits', 'Waits'],
  [/^\/runtime$/, runtimePage, 'runtime', 'Runtime'],
  [/^\/counters$/, counters, 'counters', 'Counters'],
];

const main = document.getElementById('main');
const latest = {}; // of each kind of data
let shown = null; // the view's path, and what it returned
let first = true;

function show() {
  const [path, query = ''] = arrive().split('?', 2);
  if (shown?.path === path && shown.view?.go?.(new URLSearchParams(query))) return;
  shown?.view?.leave?.();
  main.replaceChildren();
  const found = views.find(([pattern]) => pattern.test(path));
  const [pattern, view, page, title] = found || [/(?:)/, unknown, '', 'Not found'];
  const setTitle = (text) => { document.title = `${text} · perfline`; };
  setTitle(title);
  for (const link of document.querySelectorAll('[data-page]')) {
    if (link.dataset.page === page) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const parts = path.match(pattern).slice(1);
  shown = { path };
  shown.view = view({ main, latest, title: setTitle, parts, query: new URLSearchParams(query) });
  if (first) first = false;
  else {
    main.focus({ preventScroll: true }); // tells screen readers that there is another page
    scrollTo(0, 0);
  }
}

function unknown({ main: into }) {
  into.append(el('h1', {}, 'Not found'), el('p', {}, 'There is no such page. ', el('a', { href: '#/' }, 'All requests')));
}

function onData(kind, data) {
  if (kind === 'runtime') data = merged(latest.runtime, data);
  latest[kind] = data;
  if (kind === 'page') onPage(data);
  if (kind === 'requests') setText(document.getElementById('service'), data.service);
  if (kind === 'sessions') badge('nav-sessions', data.sessions.filter((s) => s.state !== 'ready').length, 'under way');
  if (kind === 'flight') document.getElementById('nav-flight').hidden = data.status !== 'armed';
  if (kind === 'counts') badge('nav-lost', data.filter((c) => c.lost).reduce((sum, c) => sum + c.n, 0), 'lost');
  shown?.view?.update?.(kind);
}

// onPage hides the links to data that a summary does not have.
function onPage({ data }) {
  const summary = data === 'summary';
  document.body.dataset.data = data;
  document.getElementById('data-note').hidden = !summary;
  for (const page of ['sessions', 'profiles', 'waits']) document.querySelector(`[data-page=${page}]`).parentElement.hidden = summary;
}

function badge(id, n, what) {
  const node = document.getElementById(id);
  node.hidden = n === 0;
  setText(node, `${count(n)} ${what}`);
}

const words = { live: 'live', connecting: 'connecting…', polling: 'live, every 3 s', paused: 'paused', offline: 'no connection: trying again' };
const state = document.getElementById('stream-state');
const live = stream(onData, (s) => {
  state.dataset.state = s;
  setText(state, words[s]);
}, () => lastOf(latest.runtime));

const pause = document.getElementById('pause');
pause.addEventListener('click', () => {
  const on = pause.getAttribute('aria-pressed') !== 'true';
  pause.setAttribute('aria-pressed', on);
  live.pause(on);
});
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault(); // the hash is the view's
  main.focus();
});
addEventListener('hashchange', show);
show();
