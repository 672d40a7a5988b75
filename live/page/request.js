// One request: its waterfall, what is known of the selected row, and what ran in it. The address has the selected
// row, the part that is shown, and the words of the search.
import { bdi, el, setVars } from './dom.js';
import { clock, count, duration, iso, plural } from './format.js';
import { get } from './get.js';
import { write } from './address.js';
import { vars, windowOf } from './axis.js';
import { waterfall } from './waterfall.js';
import { charter } from './stacks.js';
import { details } from './details.js';
import { finder } from './find.js';
import { finer } from './finer.js';
import { minimap } from './minimap.js';
import { pathSentence } from './path.js';
import { toolbar } from './toolbar.js';
import { zoomable } from './zoom.js';
import { filesMenu } from './files.js';
import { flame } from './flame.js';
import { goroutines } from './goroutines.js';
import { legend } from './segments.js';

const pause = 200; // milliseconds until the address has a change

/**
 * request is the view of one request.
 * @param {import('./main.js').Page} page
 */
export function request({ main, title, parts: [trace, span], query }) {
  const gone = new AbortController();
  const address = `#/requests/${trace}/${span}`;
  /** @type {(q: URLSearchParams) => void} */
  let apply = () => {};
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
    /** @type {Data.requestDetail} */
    const r = await get(path, { signal: gone.signal });
    const axis = windowOf(Math.max(r.took, 1e-6));
    const panel = details(r, (key) => graph.reveal(key));
    let timer = 0;
    let words = '';
    const remember = () => {
      clearTimeout(timer);
      timer = setTimeout(note, pause);
    };
    const note = () => {
      if (gone.signal.aborted) return;
      const now = new URLSearchParams();
      if (!axis.whole) {
        now.set('from', String(Number(axis.from.toFixed(6))));
        now.set('to', String(Number(axis.to.toFixed(6))));
      }
      if (words) now.set('q', words);
      if (graph.chosen) now.set('row', graph.chosen.key);
      write(`${address}?${now}`);
    };
    const graph = waterfall(r, axis, (row, wait) => {
      panel.show(row, wait);
      remember();
    });
    const search = finder(r, graph, (text) => {
      words = text;
      remember();
    });
    title(r.name);
    const onAxis = el('div', { class: 'graph' }, toolbar(graph, axis, search.nodes), minimap(r, axis), graph.node, r.waits ? legend() : null, cutNote(r));
    const all = el('div', { class: 'request' }, onAxis, panel.node);
    main.replaceChildren(head(r, path, (key) => graph.reveal(key)), all);
    zoomable(onAxis, graph.lanes, axis, gone.signal);
    axis.listen(() => setVars(main, vars(axis)));
    axis.listen(remember);
    if (r.waits) finer(graph, axis, path, gone.signal);
    apply = (q) => {
      const [from, to] = [q.get('from'), q.get('to')].map((x) => (x === null ? NaN : Number(x)));
      if (from < to) axis.set(from, to);
      else axis.reset();
      words = q.get('q') || '';
      search.set(words);
      if (!graph.select(q.get('row') || '') && !graph.chosen) graph.select(r.rows?.[0].id ?? '');
    };
    apply(query);
    main.append(r.waits ? goroutines(r, r.waits) : noTrace(r));
    await Promise.all([stacks(r, graph, axis, path), ran(r)]);
  }

  /**
   * stacks adds the samples to the waterfall, if a session has some of the request.
   * @param {Data.requestDetail} r
   * @param {import('./waterfall.js').Waterfall} graph
   * @param {import('./axis.js').Axis} axis
   * @param {string} path
   */
  async function stacks(r, graph, axis, path) {
    if (!r.session) return;
    try {
      graph.chart(charter(await get(`${path}/samples`, { signal: gone.signal }), axis, graph.lanes));
    } catch (error) {
      if (!gone.signal.aborted) graph.chart(() => el('span', { class: 'failure' }, error.message));
    }
  }

  /**
   * ran adds the flame graph, if a session has samples of the request.
   * @param {Data.requestDetail} r
   */
  async function ran(r) {
    const section = el('section', { 'aria-labelledby': 'ran-title', id: 'ran' }, el('h2', { id: 'ran-title' }, 'What ran'));
    main.append(section);
    if (!r.session) {
      section.append(el('p', { class: 'muted' }, 'No session that is kept has samples of this request. ',
        el('a', { href: `#/sessions?${new URLSearchParams({ route: r.name })}` }, 'Record the next one'), ' of this route.'));
      return;
    }
    const source = new URLSearchParams({ session: String(r.session), trace, span });
    section.append(el('p', { class: 'muted' }, 'Sampled by ', el('a', { href: `#/sessions/${r.session}` }, `session ${r.session}`), `: ${r.engine} every ${duration(r.interval ?? 0)}. `,
      el('a', { href: `#/profile?${source}`, id: 'to-profile' }, 'Functions, callers and comparison')));
    try {
      section.append(flame(await get(`data/v1/profile/flame?${source}`, { signal: gone.signal }), { address: (name) => `#/profile?${new URLSearchParams([...source, ['tab', 'sandwich'], ['function', name]])}` }));
    } catch (error) {
      section.append(el('p', { class: 'note bad', role: 'alert', id: 'ran-error' }, error.message));
    }
  }

  return {
    /** @param {URLSearchParams} q */
    go(q) {
      apply(q);
      return true;
    },
    leave() {
      gone.abort();
      setVars(main, { from: 0, zoom: 1 });
    },
  };
}

/**
 * @param {Data.requestDetail} r
 * @param {string} path
 * @param {(key: string) => void} onSelect
 */
function head(r, path, onSelect) {
  return el('header', { class: 'head' },
    el('h1', {}, bdi(r.name)),
    r.waits?.sentence ? el('p', { class: 'cause', id: 'sentence' }, bdi(r.waits.sentence)) : null,
    pathSentence(r, onSelect),
    el('p', { class: 'facts' },
      el('span', { class: r.failed ? 'badge bad' : 'badge', id: 'status' }, r.status ? `status ${r.status}` : r.failed ? 'error' : 'no error'),
      el('strong', { id: 'took' }, duration(r.took)),
      el('time', { datetime: iso(r.start), title: iso(r.start) }, clock(r.start)),
      el('span', {}, plural(r.rows?.length, 'span')),
      el('span', {}, 'trace ', el('code', { id: 'trace' }, r.trace)),
      el('a', { href: `#/compare?a=${r.trace}/${r.span}`, id: 'compare' }, 'Compare with a usual one')),
    filesMenu(path, r.files));
}

/** @param {Data.requestDetail} r */
function noTrace(r) {
  return el('section', { 'aria-labelledby': 'goroutines-title', id: 'goroutines' },
    el('h2', { id: 'goroutines-title' }, 'What it waited for'),
    el('p', { class: 'muted', id: 'no-waits' }, r.no_waits ? `There is no result: ${r.no_waits}. ` : 'There is no result. ',
      r.inside ? el('a', { href: `#/requests/${r.trace}/${r.inside}`, id: 'inside' }, 'The request around this one') : el('a', { href: '#/waits' }, 'The waits recorder')));
}

/** @param {Data.requestDetail} r */
function cutNote(r) {
  /** @type {[number | undefined, string][]} */
  const all = [[r.cut.rows, 'spans'], [r.cut.marks, 'marks'], [r.cut.attributes, 'attributes'], [r.cut.waits, 'intervals and parts of bars'], [r.cut.path, 'parts of the critical path and groups']];
  const left = all.filter(([n]) => n).map(([n, what]) => `${count(n)} ${what}`);
  if (r.missing) left.push(`${count(r.missing)} spans that were not kept`);
  return left.length ? el('p', { class: 'note', id: 'cut' }, `Left out: ${left.join(', ')}.`) : null;
}
