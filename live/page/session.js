// One session: how it is doing while it is under way; then its files, its profiles and
// its timelines.
import { bdi, el, off, setText } from './dom.js';
import { clock, count, duration, iso, plural } from './format.js';
import { call, get } from './get.js';
import { act, complain, costOf, lengthOf, progress, release } from './control.js';
import { fileList } from './files.js';
import { timelines } from './timelines.js';
import { howToAllow } from './sessions.js';

const mostRoutes = 50;
const retryAfter = 2000; // ms until a session that could not be had is asked for again

/**
 * sessionPage is the view of one session.
 * @param {import('./main.js').Page} page
 */
export function sessionPage({ main, latest, title, parts: [id] }) {
  const alert = el('p', { class: 'note bad', role: 'alert', id: 'error', hidden: true });
  const refused = el('p', { class: 'note', id: 'refused', hidden: true });
  const state = el('p', { class: 'facts', id: 'session-state' });
  const said = el('p', { class: 'sr', role: 'status', id: 'session-status' });
  const facts = el('p', { class: 'facts', id: 'session-facts' });
  const heading = el('h1', { tabindex: '-1' }, `Session ${id}`);
  const stop = el('button', { type: 'button', class: 'primary', id: 'stop', hidden: true, onclick: () => act(stop, alert, () => call('StopProfiler', { sessionID: Number(id) })) }, 'Stop');
  const drop = el('button', { type: 'button', id: 'release-session', hidden: true, onclick: async () => {
    if (await release(Number(id), drop, alert) && drop.isConnected) location.hash = '#/sessions';
  } }, 'Release');
  const content = el('div', { id: 'session' });
  main.append(
    el('header', { class: 'head' }, heading, state, facts, el('p', { class: 'acts' }, stop, drop, el('a', { href: '#/sessions' }, 'All sessions'))),
    refused, alert, said, content);

  // The start of the session that is shown, null for none: after a restart of the program it is
  // another's that has the same id.
  /** @type {number | null} */
  let start = null;
  let retry = 0;

  /** @param {number | null} next */
  function turnTo(next) {
    if (start === next) return;
    start = next;
    clearTimeout(retry);
    content.replaceChildren();
    alert.hidden = true;
    main.querySelector('dialog')?.close();
    if (start !== null) load();
  }

  async function load() {
    const of = start;
    try {
      const [session, about] = await Promise.all([call('GetSession', { sessionID: Number(id) }), get(`data/v1/sessions/${id}`)]);
      if (start !== of) return;
      alert.hidden = true;
      show(session, about);
    } catch (error) {
      if (start !== of) return;
      complain(alert, error);
      retry = setTimeout(load, retryAfter);
    }
  }

  /**
   * @param {Rpc.Session} session
   * @param {Data.sessionContents} about
   */
  function show(session, about) {
    const missing = lost(session.stats || {}, about);
    content.replaceChildren(
      missing,
      el('div', { class: 'columns' }, downloads(id, about, alert), flames(id, about)),
      timelines(Number(id), session, alert));
    if (!missing.textContent) missing.remove();
  }

  /** @param {string} kind */
  function update(kind) {
    const data = latest.sessions;
    if (kind !== 'sessions' || !data) return;
    refused.hidden = !data.refused;
    if (data.refused) howToAllow(refused, data.refused);
    const s = data.sessions.find((each) => String(each.id) === id);
    off(stop, 'hidden', !s || s.state === 'ready' || s.state === 'processing', heading);
    off(drop, 'hidden', s?.state !== 'ready', heading);
    turnTo(s?.state === 'ready' ? s.start : null);
    if (!s) {
      setText(said, '');
      setText(facts, '');
      state.replaceChildren(data.refused ? '' : `There is no session ${id}, or no more.`);
      return;
    }
    if (!state.querySelector('.state')) state.replaceChildren();
    progress(state, s);
    title(`Session ${id}${s.route ? ` of ${s.route}` : ''}`);
    setText(said, `Session ${id} is ${s.state}`);
    setText(facts, `${s.route ? `${s.route}, ` : ''}began ${clock(s.start)}, ${lengthOf(s)}, ${plural(s.entries, 'entry', 'entries')}, ${plural(s.samples, 'sample')}${costOf(s) ? `, ${costOf(s)}` : ''}`);
    facts.title = iso(s.start);
  }
  update('sessions');
  return { update, leave: () => { start = null; clearTimeout(retry); } };
}

/**
 * @param {Rpc.SessionStats} stats
 * @param {Data.sessionContents} about
 */
function lost(stats, about) {
  /** @type {[string | number | undefined, string][]} */
  const all = [[stats.dropped, 'entries did not fit'], [stats.lost, 'entries came too late or found no room'],
    [about.processFailed, 'profiles of the process could not be taken: the log of the program has the reason']];
  const parts = all.filter(([n]) => Number(n)).map(([n, what]) => `${count(n)} ${what}`);
  if (stats.samplesFull) parts.push('sampling stopped before the session did: its buffer was full');
  return el('p', { class: parts.length ? 'note bad' : '', id: 'session-lost' }, parts.length ? `Not everything is here: ${parts.join('; ')}.` : '');
}

/**
 * @param {string} id
 * @param {Data.sessionContents} about
 * @param {HTMLElement} alert
 */
function downloads(id, about, alert) {
  return el('section', { 'aria-labelledby': 'files-title', id: 'files' }, el('h2', { id: 'files-title' }, 'Files'),
    fileList(`data/v1/sessions/${id}`, about.files, (event) => save(event, id, alert)));
}

/**
 * save asks whether the session is still there: of a file that is not, browsers say next to nothing.
 * @param {MouseEvent} event
 * @param {string} id
 * @param {HTMLElement} alert
 */
async function save(event, id, alert) {
  const link = /** @type {HTMLAnchorElement} */ (event.currentTarget);
  event.preventDefault();
  if (await act(link, alert, () => call('GetSession', { sessionID: Number(id), limit: 1 }))) el('a', { href: link.href, download: '' }).click();
}

/**
 * @param {string} id
 * @param {Data.sessionContents} about
 */
function flames(id, about) {
  const section = el('section', { 'aria-labelledby': 'flames-title', id: 'flames' }, el('h2', { id: 'flames-title' }, 'Profiles'));
  if (!about.samples) {
    section.append(el('p', { class: 'muted' }, 'This session has no samples.'));
    return section;
  }
  const line = (/** @type {string} */ text, /** @type {Record<string, string>} */ more, /** @type {string} */ words) => el('li', {},
    el('a', { href: `#/profile?${new URLSearchParams({ session: id, ...more })}` }, bdi(text)), el('span', { class: 'muted' }, ` ${words}`));
  const routes = about.routes.filter((r) => r.samples);
  const left = Math.max(0, routes.length - mostRoutes) + about.cut;
  section.append(el('ul', { class: 'files' },
    line('The whole session', {}, plural(about.samples, 'sample')),
    routes.slice(0, mostRoutes).map((r) => line(r.name, { route: String(r.route) },
      plural(r.samples, 'sample') + (r.requests ? `, ${plural(r.requests, 'request')}, ${duration(r.max)} at most` : '')))));
  if (left > 0) section.append(el('p', { class: 'muted' }, `Not listed: ${plural(left, 'route')} with fewer samples.`));
  return section;
}
