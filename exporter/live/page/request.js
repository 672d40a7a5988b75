// One request: its waterfall, what is known of the selected row, and what ran in it.
import { bdi, el } from './dom.js';
import { clock, count, duration, iso, plural } from './format.js';
import { get } from './get.js';
import { waterfall } from './waterfall.js';
import { details } from './details.js';
import { filesMenu } from './files.js';
import { flame } from './flame.js';
import { goroutines } from './goroutines.js';
import { legend } from './states.js';

export function request({ main, title, parts: [trace, span], query }) {
  const gone = new AbortController();
  let graph = null;
  main.append(el('p', { class: 'muted', id: 'loading' }, 'Loading the request…'));
  load().catch((error) => {
    if (gone.signal.aborted) return;
    main.replaceChildren(
      el('h1', {}, 'Request'),
      el('p', { class: 'note bad', role: 'alert', id: 'error' }, error.message),
      el('p', {}, el('a', { href: '#/' }, 'All requests')));
  });

  async function load() {
    const path = `data/v1/requests/${trace}/${span}`;
    const r = await get(path, { signal: gone.signal });
    graph = waterfall(r, (row) => {
      panel.show(row);
      history.replaceState(null, '', `#/requests/${trace}/${span}?row=${row.key}`);
    });
    title(r.name);
    const panel = details(r);
    main.replaceChildren(head(r, path), el('div', { class: 'request' }, el('div', { class: 'graph' }, graph.node, ...[r.waits ? legend() : null, cutNote(r)].filter(Boolean)), panel.node));
    graph.select(query.get('row') || r.rows[0].id);
    main.append(r.waits ? goroutines(r) : noTrace());
    await ran(r);
  }

  // ran adds the flame graph, if a session has samples of the request.
  async function ran(r) {
    const section = el('section', { 'aria-labelledby': 'ran-title', id: 'ran' }, el('h2', { id: 'ran-title' }, 'What ran'));
    main.append(section);
    if (!r.session) {
      section.append(el('p', { class: 'muted' }, 'No session that is kept has samples of this request. ',
        el('a', { href: `#/sessions?${new URLSearchParams({ route: r.name })}` }, 'Record the next one'), ' of this route.'));
      return;
    }
    const source = new URLSearchParams({ session: r.session, trace, span });
    section.append(el('p', { class: 'muted' }, 'Sampled by ', el('a', { href: `#/sessions/${r.session}` }, `session ${r.session}`), `: ${r.engine} every ${duration(r.interval)}. `,
      el('a', { href: `#/profile?${source}`, id: 'to-profile' }, 'Functions, callers and comparison')));
    try {
      section.append(flame(await get(`data/v1/profile/flame?${source}`, { signal: gone.signal }), { address: (name) => `#/profile?${new URLSearchParams([...source, ['tab', 'sandwich'], ['function', name]])}` }));
    } catch (error) {
      section.append(el('p', { class: 'note bad', role: 'alert', id: 'ran-error' }, error.message));
    }
  }

  return {
    go(q) {
      if (q.has('row')) graph?.select(q.get('row'));
      return true;
    },
    leave: () => gone.abort(),
  };
}

function head(r, path) {
  return el('header', { class: 'head' },
    el('h1', {}, bdi(r.name)),
    r.waits?.sentence ? el('p', { class: 'cause', id: 'sentence' }, bdi(r.waits.sentence)) : null,
    el('p', { class: 'facts' },
      el('span', { class: r.failed ? 'badge bad' : 'badge', id: 'status' }, r.status ? `status ${r.status}` : r.failed ? 'error' : 'no error'),
      el('strong', { id: 'took' }, duration(r.took)),
      el('time', { datetime: iso(r.start), title: iso(r.start) }, clock(r.start)),
      el('span', {}, plural(r.rows.length, 'span')),
      el('span', {}, 'trace ', el('code', { id: 'trace' }, r.trace)),
      el('a', { href: `#/compare?a=${r.trace}/${r.span}`, id: 'compare' }, 'Compare with a usual one')),
    filesMenu(path, r.files));
}

function noTrace() {
  return el('section', { 'aria-labelledby': 'goroutines-title', id: 'goroutines' },
    el('h2', { id: 'goroutines-title' }, 'What it waited for'),
    el('p', { class: 'muted' }, 'No execution trace has this request. ', el('a', { href: '#/waits' }, 'Arm the flight recorder'), ' for the next slow one.'));
}

function cutNote(r) {
  const left = [[r.cut.rows, 'spans'], [r.cut.marks, 'marks'], [r.cut.attributes, 'attributes'], [r.cut.waits, 'waits and parts of bars']]
    .filter(([n]) => n).map(([n, what]) => `${count(n)} ${what}`);
  if (r.missing) left.push(`${count(r.missing)} spans that were not kept`);
  return left.length ? el('p', { class: 'note', id: 'cut' }, `Left out: ${left.join(', ')}.`) : null;
}
