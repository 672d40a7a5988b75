// A flame graph on a page of its own: of a session, of a route in it, of a timeline's frame.
import { bdi, el } from './dom.js';
import { get } from './get.js';
import { flame } from './flame.js';

export function flamePage({ main, title: setTitle, query }) {
  const gone = new AbortController();
  const session = query.get('session');
  const title = el('h1', {}, 'What ran');
  main.append(el('header', { class: 'head' }, title, el('p', {}, el('a', { href: `#/sessions/${session}` }, `Session ${session}`))));
  get(`data/v1/flame?${query}`, { signal: gone.signal }).then((graph) => {
    setTitle(`What ran in ${graph.title}`);
    title.replaceChildren('What ran in ', bdi(graph.title));
    if (graph.engine === 'wall') main.append(waiting(query));
    main.append(flame(graph));
  }).catch((error) => {
    if (!gone.signal.aborted) main.append(el('p', { class: 'note bad', role: 'alert', id: 'error' }, error.message));
  });
  return { leave: () => gone.abort() };
}

// waiting changes between all samples and those of what runs: most goroutines wait.
function waiting(query) {
  const other = new URLSearchParams(query);
  if (query.has('running')) other.delete('running');
  else other.set('running', '1');
  return el('p', {}, el('a', { href: `#/flame?${other}`, id: 'waiting' }, query.has('running') ? 'With what waits' : 'Without what waits'));
}
