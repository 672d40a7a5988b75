// A profile: of a request, a route, a timeline, a session or the last minute. Its tabs show the same samples in four ways. The
// address has the profile, the tab, the function, the search and the order, so that it can be passed on and gone back to.
import { bdi, el, reconcile, replace } from './dom.js';
import { clock, duration, percent, plural } from './format.js';
import { write } from './address.js';
import { get } from './get.js';
import { tabs } from './tabs.js';
import { flame } from './flame.js';
import { top } from './top.js';
import { sandwich } from './sandwich.js';
import { difference } from './difference.js';
import { profileList, profilePicker, recordMinute, visited } from './profiles.js';

const sourceKeys = ['last', 'name', 'session', 'route', 'timeline', 'trace', 'span', 'running'];
const waitForMinute = 3000; // ms until the last minute is asked for again while it has no samples
const ways = [{ id: 'flame', name: 'Flame graph' }, { id: 'top', name: 'Top table' }, { id: 'sandwich', name: 'Sandwich' }, { id: 'difference', name: 'Difference' }];

/** @param {Partial<Data.events>} latest */
const sessionsOf = (latest) => (latest.sessions?.sessions || []).map((s) => `${s.id} ${s.state}`).join();
/** @param {URLSearchParams} query */
const sourceOf = (query) => new URLSearchParams([...query].filter(([key]) => sourceKeys.includes(key)));

/**
 * profilePage is the view of a profile, or of all of them.
 * @param {import('./main.js').Page} page
 * @returns {import('./main.js').Told}
 */
export function profilePage(page) {
  const { main, latest, title: setTitle } = page;
  let query = new URLSearchParams(page.query);
  const source = sourceOf(query);
  if (!source.size) return profileList(page);
  const gone = new AbortController();
  const answers = new Map(); // promises, by address
  let turn = 0; // another for each panel
  let timer = 0;
  let listed = sessionsOf(latest);

  const heading = el('h1', { tabindex: '-1' }, 'Profile');
  const facts = el('p', { class: 'facts', id: 'profile-facts' });
  const acts = el('p', { class: 'acts' });
  const choice = tabs('Ways to see the profile', ways, (id) => turnTo({ tab: id }));
  main.append(el('header', { class: 'head' }, heading, facts, acts), choice.list, choice.panel);

  const tab = () => ways.find((w) => w.id === query.get('tab'))?.id ?? 'flame';

  /**
   * @param {string} way
   * @param {Record<string, string>} more
   */
  const ask = (way, more = {}) => {
    const path = `data/v1/profile/${way}?${new URLSearchParams([...source, ...Object.entries(more)])}`;
    if (!answers.has(path)) {
      const answer = get(path, { signal: gone.signal });
      answers.set(path, answer);
      answer.catch(() => answers.delete(path)); // to be asked for again
    }
    return answers.get(path);
  };

  /** @param {Record<string, string>} changes */
  function changed(changes) {
    const next = new URLSearchParams(query);
    for (const [key, value] of Object.entries(changes)) {
      if (value) next.set(key, value);
      else next.delete(key);
    }
    return next;
  }
  const address = (/** @type {Record<string, string>} */ changes) => `#/profile?${changed(changes)}`;

  // note puts a state into the address; turnTo is a step that one can go back from.
  function note(/** @type {Record<string, string>} */ changes) {
    const next = changed(changes);
    if (write(`#/profile?${next}`)) query = next;
  }
  function turnTo(/** @type {Record<string, string>} */ changes) { location.hash = address(changes); }

  // exchange turns to the other profile, compared with this one.
  function exchange() {
    const kept = [...query].filter(([key]) => ['tab', 'search', 'sort', 'filter'].includes(key));
    location.hash = `#/profile?${new URLSearchParams([...new URLSearchParams(query.get('with') ?? ''), ...kept, ['with', String(source)]])}`;
  }

  const ofFunction = (/** @type {string} */ name) => address({ tab: 'sandwich', function: name });
  const searching = () => ({ search: query.get('search') || '', onSearch: (/** @type {string} */ search) => note({ search }) });
  const ordered = () => ({
    state: { sort: query.get('sort') || undefined, filter: query.get('filter') || '' }, onState: (/** @type {{ sort: string, filter: string }} */ { sort, filter }) => note({ sort, filter }),
  });

  /**
   * panels return the head of the profile, and the content of the panel.
   * @type {Record<string, () => Promise<[Data.profileHead, (Node | string)[]]>>}
   */
  const panels = {
    flame: async () => {
      const g = await ask('flame');
      return [g, [flame(g, { ...searching(), address: ofFunction, onSelect: (name) => note({ function: name }) })]];
    },
    top: async () => {
      const t = await ask('functions');
      return [t, top(t, { ...ordered(), address: ofFunction })];
    },
    sandwich: async () => {
      const name = query.get('function');
      if (!name) {
        const t = await ask('functions');
        return [t, [el('p', { class: 'note', id: 'sandwich-choose' }, 'Choose a function to see its callers and its callees.'), ...top(t, { ...ordered(), address: ofFunction })]];
      }
      const s = await ask('sandwich', { function: name });
      return [s, [el('p', {}, el('a', { href: address({ function: '' }), id: 'other-function' }, 'Another function')), ...sandwich(s, { address: ofFunction })]];
    },
    difference: async () => {
      const other = query.get('with');
      const [d, ...about] = await Promise.all([other ? ask('difference', { with: other }) : ask('functions'), profilePicker({ source, other, latest, signal: gone.signal, turnTo, exchange })]);
      if (!other) return [d, [...about.flat(), el('p', { class: 'muted' }, 'Choose another profile to compare this one with.')]];
      return [d.a, [...about.flat(), ...difference(d, { ...ordered(), ...searching(), address: ofFunction })]];
    },
  };

  /** @param {Data.profileHead} p */
  function head(p) {
    visited.set(String(source), p.title);
    setTitle(`Profile of ${p.title}`);
    heading.replaceChildren('Profile of ', bdi(p.title));
    facts.replaceChildren(...[
      el('strong', {}, `${duration(p.total)} in ${plural(p.samples, 'sample')}`),
      el('span', {}, `${p.engine} every ${duration(p.interval)}`),
      p.requests ? el('span', {}, plural(p.requests, 'request')) : null,
      p.length ? el('span', {}, `sampled for ${duration(p.length)}${p.start ? ` from ${clock(p.start)}` : ''}`) : null,
      p.noStack ? el('span', {}, `${percent(p.noStack, p.total)} without a stack`) : null,
    ].filter((node) => node !== null));
    const other = new URLSearchParams(query);
    if (source.has('running')) other.delete('running');
    else other.set('running', '1');
    const waits = source.has('last') && p.samples === 0;
    const link = (/** @type {string} */ href, /** @type {string} */ text, /** @type {string} */ id = '') => ({ key: `${href} ${text}`, make: () => el('a', { href, id: id || null }, text) });
    reconcile(acts, [
      p.session ? link(`#/sessions/${p.session}`, `Session ${p.session}`) : null,
      source.has('trace') ? link(`#/requests/${source.get('trace')}/${source.get('span')}`, 'Request') : null,
      link('#/profile', 'All profiles'),
      p.engine === 'wall' || source.has('running') ? link(`#/profile?${other}`, source.has('running') ? 'With what waits' : 'Without what waits', 'waiting') : null,
      source.has('last') ? { key: 'refresh', make: () => el('button', { type: 'button', id: 'refresh', onclick: again }, 'Refresh') } : null,
      waits ? { key: 'waits', make: () => el('span', { class: 'muted', role: 'status', id: 'minute-waits' }, 'Samples stay in memory from now on. The first ones come with the next profile of the profiler that runs all the time.') } : null,
    ].filter((act) => act !== null), (act) => act.key, (act) => act.make(), () => {});
    if (waits) timer = setTimeout(again, waitForMinute);
  }

  function again() {
    clearTimeout(timer);
    answers.clear();
    show();
  }

  async function show() {
    const mine = ++turn;
    clearTimeout(timer);
    choice.show(tab());
    if (!choice.panel.firstChild) choice.panel.append(el('p', { class: 'muted' }, 'Loading…'));
    choice.panel.setAttribute('aria-busy', 'true');
    /** @type {Data.profileHead | null} */
    let about = null;
    let content;
    try {
      [about, content] = await panels[tab()]();
    } catch (error) {
      content = [el('p', { class: 'note bad', role: 'alert', id: 'error' }, error.message)];
      if (source.has('last')) content.push(recordMinute(latest));
    }
    if (mine !== turn || gone.signal.aborted) return;
    if (about) head(about);
    choice.panel.removeAttribute('aria-busy');
    replace(choice.panel, content, choice.panel);
  }
  show();

  return {
    // Which profiles there are to compare with is known with the sessions.
    update(/** @type {string} */ kind) {
      if (kind !== 'sessions' || tab() !== 'difference' || choice.panel.contains(document.activeElement)) return;
      const now = sessionsOf(latest);
      if (now !== listed) show();
      listed = now;
    },
    go(/** @type {URLSearchParams} */ next) {
      if (String(sourceOf(next)) !== String(source)) return false;
      const same = ['tab', 'function', 'with'].every((key) => (next.get(key) || '') === (query.get(key) || ''));
      query = new URLSearchParams(next);
      if (!same) show();
      return true;
    },
    leave: () => {
      gone.abort();
      clearTimeout(timer);
    },
  };
}
