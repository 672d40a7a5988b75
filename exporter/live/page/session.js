// One session: how it is doing while it is under way; then its files, its flame graphs and
// its timelines.
import { bdi, el, setText } from './dom.js';
import { clock, count, duration, iso, plural, shown } from './format.js';
import { call } from './get.js';
import { act, progress, release } from './control.js';
import { timelines } from './timelines.js';
import { howToAllow } from './sessions.js';

const files = [
  ['firefox', 'Firefox Profiler', 'marks, measures, samples and garbage collections on one axis. Load it at profiler.firefox.com, or drop it on ui.perfetto.dev.'],
  ['speedscope', 'speedscope', 'samples in the order of time, left heavy, sandwich. Drop it on speedscope.app.'],
  ['pprof', 'pprof', 'for go tool pprof -http=: FILE, with labels of spans.'],
  ['json', 'JSON Self-Profiling', 'the ProfilerTrace of the JS Self-Profiling specification: resources, frames, stacks, samples.'],
];

export function sessionPage({ main, latest, parts: [id] }) {
  const alert = el('p', { class: 'note bad', role: 'alert', id: 'error', hidden: true });
  const refused = el('p', { class: 'note', id: 'refused', hidden: true });
  const state = el('p', { class: 'facts', id: 'session-state' });
  const said = el('p', { class: 'sr', role: 'status', id: 'session-status' });
  const facts = el('p', { class: 'facts', id: 'session-facts' });
  const stop = el('button', { type: 'button', class: 'primary', id: 'stop', hidden: true, onclick: () => act(stop, alert, () => call('StopProfiler', { sessionID: Number(id) })) }, 'Stop');
  const drop = el('button', { type: 'button', id: 'release-session', hidden: true, onclick: async () => {
    if (await release(Number(id), drop, alert)) location.hash = '#/sessions';
  } }, 'Release');
  const content = el('div', { id: 'session' });
  main.append(
    el('header', { class: 'head' }, el('h1', {}, `Session ${id}`), state, facts, el('p', { class: 'acts' }, stop, drop, el('a', { href: '#/sessions' }, 'All sessions'))),
    refused, alert, said, content);
  let loaded = false;
  let left = false;

  async function load() {
    loaded = true;
    try {
      const session = await call('GetSession', { sessionID: Number(id) });
      if (!left) show(session);
    } catch (error) {
      alert.hidden = false;
      setText(alert, error.message);
    }
  }

  function show(session) {
    const stats = session.stats || {};
    content.replaceChildren(
      lost(stats),
      el('div', { class: 'columns' }, downloads(id, Number(stats.samples || 0)), flames(id, session, stats)),
      timelines(Number(id), session));
    if (!content.firstChild.textContent) content.firstChild.remove();
  }

  function update(kind) {
    const data = latest.sessions;
    if (kind !== 'sessions' || !data) return;
    refused.hidden = !data.refused;
    if (data.refused) {
      howToAllow(refused, data.refused);
      return;
    }
    const s = data.sessions.find((each) => String(each.id) === id);
    if (!s) {
      setText(said, '');
      state.replaceChildren(`There is no session ${id}, or no more.`);
      stop.hidden = drop.hidden = true;
      return;
    }
    if (!state.querySelector('.state')) state.replaceChildren();
    progress(state, s);
    setText(said, `Session ${id} is ${s.state}`);
    setText(facts, `${s.route ? `${s.route}, ` : ''}began ${clock(s.start)}, ${duration(s.length)}, ${plural(s.entries, 'entry', 'entries')}, ${plural(s.samples, 'sample')}`);
    facts.title = iso(s.start);
    stop.hidden = s.state === 'ready' || s.state === 'processing';
    drop.hidden = s.state !== 'ready';
    if (s.state === 'ready' && !loaded) load();
  }
  update('sessions');
  return { update, leave: () => { left = true; } };
}

function lost(stats) {
  const parts = [[stats.dropped, 'entries did not fit'], [stats.lost, 'entries came too late or found no room']]
    .filter(([n]) => Number(n)).map(([n, what]) => `${count(n)} ${what}`);
  if (stats.samplesFull) parts.push('sampling stopped before the session did: its buffer was full');
  return el('p', { class: parts.length ? 'note bad' : '', id: 'session-lost' }, parts.length ? `Not everything is here: ${parts.join('; ')}.` : '');
}

function downloads(id, samples) {
  return el('section', { 'aria-labelledby': 'files-title', id: 'files' }, el('h2', { id: 'files-title' }, 'Files'),
    el('ul', { class: 'files' }, files.filter(([format]) => samples || format === 'firefox').map(([format, name, use]) =>
      el('li', {}, el('a', { href: `data/sessions/${id}/${format}`, download: '', data: { format } }, name), el('span', { class: 'muted' }, ` ${use}`)))));
}

function flames(id, session, stats) {
  const section = el('section', { 'aria-labelledby': 'flames-title', id: 'flames' }, el('h2', { id: 'flames-title' }, 'Flame graphs'));
  if (!Number(stats.samples)) {
    section.append(el('p', { class: 'muted' }, 'This session has no samples.'));
    return section;
  }
  const routes = new Map();
  for (const t of session.timelineList || []) {
    if (t.sampleCount) routes.set(shown(t.name), (routes.get(shown(t.name)) || 0) + t.sampleCount);
  }
  const link = (text, more) => el('a', { href: `#/flame?${new URLSearchParams({ session: id, ...more })}` }, bdi(text));
  section.append(el('ul', { class: 'files' },
    el('li', {}, link('The whole session', {}), el('span', { class: 'muted' }, ` ${plural(stats.samples, 'sample')}`)),
    [...routes].sort((a, b) => b[1] - a[1]).slice(0, 50).map(([name, n]) =>
      el('li', {}, link(name, { route: name }), el('span', { class: 'muted' }, ` ${plural(n, 'sample')}`)))));
  return section;
}
