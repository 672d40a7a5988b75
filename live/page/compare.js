// Two requests compared: where the difference is, both on one axis, and tables of spans, waits and functions.
import { arrows, bdi, el, replace, setText } from './dom.js';
import { clock, duration, iso, plural } from './format.js';
import { get } from './get.js';
import { bothOnOneAxis } from './both.js';
import { functionTable, spanTable, waitTable } from './deltas.js';

/** @typedef {{ trace: string, span: string }} Ids */

/**
 * @param {Ids} a
 * @param {Ids} b
 */
const address = (a, b) => `#/compare?a=${a.trace}/${a.span}&b=${b.trace}/${b.span}`;

/**
 * comparePage shows the requests in the address's a and b; without b, the server selects a usual one.
 * @param {import('./main.js').Page} page
 */
export function comparePage({ main, title, query }) {
  let gone = new AbortController();
  const sentence = el('p', { class: 'cause', id: 'sentence', role: 'status' }, 'Comparing…');
  const content = el('div', { id: 'comparison' });
  main.append(el('h1', {}, 'Comparison'), sentence, content);

  /** @param {URLSearchParams} q */
  async function load(q) {
    gone.abort();
    gone = new AbortController();
    const { signal } = gone;
    const parameters = new URLSearchParams([...q].filter(([name]) => name === 'a' || name === 'b'));
    try {
      const c = await get(`data/v1/compare?${parameters}`, { signal });
      if (!signal.aborted) show(c);
    } catch (error) {
      if (signal.aborted) return;
      setText(sentence, 'There is no comparison.');
      const [trace, span] = (q.get('a') || '').split('/');
      replace(content, [el('p', { class: 'note bad', role: 'alert', id: 'error' }, error.message),
        el('p', {}, /^\w+$/.test(trace) && /^\w+$/.test(span) ? el('a', { href: `#/requests/${trace}/${span}` }, 'The request') : el('a', { href: '#/' }, 'All requests'))], main);
    }
  }

  /** @param {Data.comparison} c */
  function show(c) {
    title(`Comparison of ${c.a.name}`);
    setText(sentence, c.sentence);
    replace(content, [head(c), bothOnOneAxis(c), spanTable(c), waitTable(c), functionTable(c)], main);
  }

  load(query);
  return {
    /** @param {URLSearchParams} q */
    go(q) {
      load(q);
      return true;
    },
    leave: () => gone.abort(),
  };
}

/** @param {Data.comparison} c */
function head(c) {
  const how = c.chosen ? '' : c.median ? `. It is the nearest one in memory to the median of the route, ${duration(c.median)}` : '. It is the median of the requests in memory';
  return el('section', { 'aria-label': 'The compared requests' },
    el('ul', { class: 'files', id: 'sides' }, side('A', c.a), side('B', c.b, how)),
    el('p', { class: 'muted' }, 'A difference is the time of A minus the time of B.'),
    el('div', { class: 'acts' },
      el('button', { type: 'button', id: 'swap', onclick: () => { location.hash = address(c.b, c.a); } }, 'Swap A and B'),
      choices(c)));
}

/**
 * @param {string} name
 * @param {Data.comparedRequest} r
 */
function side(name, r, how = '') {
  return el('li', { data: { side: name } }, el('span', { class: `swatch side-${name.toLowerCase()}`, 'aria-hidden': 'true' }), el('strong', {}, `${name}: `),
    el('a', { href: `#/requests/${r.trace}/${r.span}` }, bdi(r.name)), ' ', el('strong', {}, duration(r.took)), ' ', state(r), ' at ',
    el('time', { datetime: iso(r.start), title: iso(r.start) }, clock(r.start)), how);
}

/** @param {Data.requestRow} r */
const state = (r) => (r.failed || r.status ? el('span', { class: r.failed ? 'badge bad' : 'badge' }, r.status ? `status ${r.status}` : 'error') : null);

/**
 * choices lists the other requests of the route for B.
 * @param {Data.comparison} c
 */
function choices(c) {
  if (c.choices.length === 0) return el('p', { class: 'muted', id: 'choices' }, 'No other request of this route is in memory.');
  const list = el('ul', { class: 'files' }, c.choices.map((r) => el('li', {},
    el('a', { href: address(c.a, r), data: { trace: r.trace } }, `${duration(r.took)} at ${clock(r.start)}`), ' ', state(r))));
  arrows(list, 'a');
  return el('details', { class: 'menu', id: 'choices' }, el('summary', {}, `Another B: ${plural(c.choices.length, 'request')} of this route`), list,
    c.choicesCut ? el('p', { class: 'muted' }, `Not listed: ${plural(c.choicesCut, 'request')}.`) : null);
}
