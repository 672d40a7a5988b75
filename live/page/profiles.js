// The profiles that there are to see: of the last minute, of sessions and of their routes. And those that this page has shown before.
import { bdi, el, reconcile } from './dom.js';
import { clock, duration, plural } from './format.js';
import { call, get } from './get.js';
import { act } from './control.js';
import { howToAllow } from './sessions.js';

const mostRoutes = 20; // of a session

/**
 * visited has the titles of the profiles that were shown, by their parameters.
 * @type {Map<string, string>}
 */
export const visited = new Map();

/** @param {Partial<Data.events>} latest */
const sampled = (latest) => (latest.sessions?.sessions || []).filter((s) => s.state === 'ready' && s.samples > 0);
/** @param {Record<string, string | number>} of */
const query = (of) => String(new URLSearchParams(Object.entries(of).map(([key, value]) => [key, String(value)])));

/**
 * profileList lists the profiles, as a view.
 * @param {import('./main.js').Page} page
 */
export function profileList({ main, latest }) {
  const gone = new AbortController();
  const refused = el('p', { class: 'note', id: 'refused', hidden: true });
  const list = el('div', { class: 'columns', id: 'profiles', tabindex: '-1', hidden: true });
  /** @type {string | null} */
  let known = null; // the sessions that are listed
  main.append(el('h1', {}, 'Profiles'),
    el('p', { class: 'muted lead' }, 'A profile shows which code ran, and for how long: as a flame graph, as a table of functions, around one function, and beside another profile. A request has its profile on its own page.'),
    refused, list);

  /** @param {string} kind */
  async function update(kind) {
    const data = latest.sessions;
    if (kind !== 'sessions' || !data) return;
    refused.hidden = !data.refused;
    list.hidden = Boolean(data.refused);
    if (data.refused) {
      howToAllow(refused, data.refused);
      return;
    }
    const ready = sampled(latest);
    const keyOf = (/** @type {Data.sessionRow} */ s) => `${s.id} ${s.start}`;
    const now = ready.map(keyOf).join();
    if (now === known) return;
    known = now;
    const sections = await Promise.all(ready.map(async (s) => {
      const routes = await routesOf(s.id, gone.signal);
      return { key: `${keyOf(s)} ${routes.length}`, node: section(s, routes) };
    }));
    if (known !== now || gone.signal.aborted) return;
    const none = el('p', { class: 'muted' }, 'No session has samples. ', el('a', { href: '#/sessions' }, 'Record one'), '.');
    reconcile(list, [{ key: 'minute', node: minute() }, ...sections, ...(sections.length ? [] : [{ key: 'none', node: none }])],
      (part) => part.key, (part) => part.node, () => {});
  }
  update('sessions');
  return { update, leave: () => gone.abort() };
}

function minute() {
  return el('section', { 'aria-labelledby': 'minute-title' }, el('h2', { id: 'minute-title' }, 'Now'),
    el('ul', { class: 'files' }, el('li', {}, el('a', { href: '#/profile?last=minute', id: 'last-minute' }, 'The last minute'),
      el('span', { class: 'muted' }, ' of the profiler that runs all the time, if there is one'))));
}

/**
 * @param {Data.sessionRow} s
 * @param {Data.recordedRow[]} routes
 */
function section(s, routes) {
  const line = (/** @type {string} */ text, /** @type {Record<string, string | number>} */ of, /** @type {string} */ words) => el('li', {}, el('a', { href: `#/profile?${query(of)}` }, bdi(text)), el('span', { class: 'muted' }, ` ${words}`));
  return el('section', { 'aria-labelledby': `profiles-${s.id}` },
    el('h2', { id: `profiles-${s.id}` }, `Session ${s.id}, ${clock(s.start)}`),
    el('ul', { class: 'files' }, line('The whole session', { session: s.id }, `${duration(s.length)}, ${plural(s.samples, 'sample')}`),
      routes.map((r) => line(r.name, { session: s.id, route: r.route }, plural(r.samples, 'sample')))));
}

/**
 * routesOf are the routes of a session with most samples; none if the session is gone.
 * @param {number} id
 * @param {AbortSignal} signal
 * @returns {Promise<Data.recordedRow[]>}
 */
async function routesOf(id, signal) {
  /** @type {Data.sessionContents | null} */
  const about = await get(`data/v1/sessions/${id}`, { signal }).catch(() => null);
  return (about?.routes || []).filter((r) => r.samples > 0).slice(0, mostRoutes);
}

/**
 * profilePicker chooses the profile that another one is compared with.
 * @param {object} choice
 * @param {URLSearchParams} choice.source
 * @param {string | null} choice.other
 * @param {Partial<Data.events>} choice.latest
 * @param {AbortSignal} choice.signal
 * @param {(changes: Record<string, string>) => void} choice.turnTo
 * @param {() => void} choice.exchange
 */
export async function profilePicker({ source, other, latest, signal, turnTo, exchange }) {
  const all = await Promise.all(sampled(latest).map(async (s) => {
    /** @type {[Data.sessionRow, Data.recordedRow[]]} */
    const pair = [s, await routesOf(s.id, signal)];
    return pair;
  }));
  const option = (/** @type {string} */ value, /** @type {string} */ text) => el('option', { value, selected: value === other }, text);
  /** @type {[string, [string, string][]][]} */
  const groups = [
    ['Shown before on this page', [...visited]],
    ...all.map(([s, routes]) => {
      /** @type {[string, [string, string][]]} */
      const group = [`Session ${s.id}, ${clock(s.start)}`, [[query({ session: s.id }), `session ${s.id}, whole`]]];
      for (const r of routes) group[1].push([query({ session: s.id, route: r.route }), `${r.requests ? 'all requests ' : ''}${r.name}, session ${s.id}`]);
      return group;
    }),
    ['Now', [[query({ last: 'minute' }), 'the last minute']]],
  ];
  const seen = new Set([String(source)]);
  const options = groups.map(([name, list]) => {
    const left = list.filter(([value]) => {
      const fresh = !seen.has(value);
      seen.add(value);
      return fresh;
    });
    return left.length ? el('optgroup', { label: name }, left.map(([value, text]) => option(value, text))) : null;
  }).filter((node) => node !== null);
  const unlisted = [];
  if (other && !seen.has(other)) unlisted.push(option(other, 'another profile'));
  const select = el('select', { id: 'difference-with', onchange: () => turnTo({ with: select.value }) }, option('', 'choose a profile'), unlisted, options);
  const swap = el('button', { type: 'button', id: 'swap', disabled: !other, onclick: exchange }, 'Swap A and B');
  return [el('div', { class: 'filter' }, el('label', { for: 'difference-with' }, 'Compare with'), select, swap)];
}

/**
 * recordMinute offers to record a session of a minute, where no profiler runs all the time.
 * @param {Partial<Data.events>} latest
 */
export function recordMinute(latest) {
  const alert = el('p', { class: 'note bad', role: 'alert', hidden: true });
  const button = el('button', { type: 'button', class: 'primary', id: 'record-minute', onclick: () => act(button, alert, async () => {
    const started = await call('StartProfiler', { startMode: 'START_MODE_IMMEDIATE', length: 60_000 });
    location.hash = `#/sessions/${started.sessionID}`;
  }) }, 'Record a minute now');
  return el('div', {}, latest.sessions?.refused ? '' : el('p', { class: 'acts' }, button, el('a', { href: '#/sessions' }, 'More choices')), alert);
}
