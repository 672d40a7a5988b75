// Sessions: starting one, those under way, those that are kept.
import { bdi, el, element, off, reconcile, setText } from './dom.js';
import { clock, count, iso } from './format.js';
import { call } from './get.js';
import { act, costOf, lengthOf, progress, release } from './control.js';
import { leakSection } from './leaks.js';

// docs/lab/benchmarks.md has the measurements.
const cost = 'In a measurement on 2 cores, a session that samples added 6.7 µs of CPU time to an HTTP request that took 67 µs (from 3.7 to 17.6 µs in the rounds). An entry takes some 80 bytes of memory while it is recorded, and its attributes.';

/**
 * sessionsPage is the view of all sessions.
 * @param {import('./main.js').Page} page
 */
export function sessionsPage({ main, latest, query }) {
  const refused = el('p', { class: 'note', id: 'refused', hidden: true });
  const alert = el('p', { class: 'note bad', role: 'alert', id: 'error', hidden: true });
  const said = el('p', { class: 'sr', role: 'status', id: 'session-status' });
  const form = startForm(query.get('route') || '', alert);
  const body = el('tbody');
  const none = el('p', { class: 'muted', hidden: true }, 'No session is kept.');
  const table = el('table', { id: 'sessions' },
    el('thead', {}, el('tr', {}, ['Session', 'State', 'Began', 'Length', 'Entries', 'Samples'].map((h, i) =>
      el('th', { scope: 'col', class: ['', '', 'wide', 'num', 'num wide', 'num'][i] }, h)), el('td'))),
    body);
  const list = el('section', { 'aria-labelledby': 'kept-title', tabindex: '-1', hidden: true }, el('h2', { id: 'kept-title' }, 'Sessions'), table, none);
  const leaks = leakSection(alert);
  main.append(
    el('h1', {}, 'Sessions'),
    el('p', { class: 'muted lead' }, 'A session records everything the program does from its start to its stop: requests, calls, measures, marks, garbage collections, and the code that runs meanwhile.'),
    refused, alert, form.node, list, said, leaks);

  /** @param {string} kind */
  function update(kind) {
    if (kind === 'routes') form.suggest((latest.routes?.routes || []).filter((r) => r.class === 'requests').map((r) => r.route ?? ''));
    const data = latest.sessions;
    if (!data) return;
    refused.hidden = !data.refused;
    if (data.refused) howToAllow(refused, data.refused);
    form.node.hidden = list.hidden = Boolean(data.refused);
    form.tell(data);
    leaks.hidden = Boolean(data.refused) || !data.leaks;
    table.hidden = data.sessions.length === 0;
    none.hidden = data.sessions.length > 0;
    reconcile(body, data.sessions, (s) => `${s.id} ${s.route || ''}`, (s) => makeSession(s, alert), updateSession);
    form.busy(data.sessions.some((s) => s.state === 'waiting' || s.state === 'recording'), body.querySelector('a'));
    const last = data.sessions[0];
    setText(said, last ? `Session ${last.id} is ${last.state}` : '');
  }
  update('routes');
  return { update };
}

/**
 * howToAllow fills a note that says why there is nothing here, and what to do.
 * @param {HTMLElement} note
 * @param {string} reason
 */
export function howToAllow(note, reason, what = 'Sessions are not allowed from here. ') {
  if (note.dataset.reason === reason) return;
  note.dataset.reason = reason;
  note.replaceChildren(
    el('strong', {}, what), el('span', { class: 'reason' }, reason), el('br'),
    'Who writes the program allows them with ', el('code', {}, 'sessions.Config{Policy: profiling.Policy{Remote: true}}'),
    ', who runs it with ', el('code', {}, 'PERFLINE_PROFILING=remote'), ' in its environment.');
}

/**
 * @param {string} route
 * @param {HTMLElement} alert
 */
function startForm(route, alert) {
  const names = el('datalist', { id: 'route-names' });
  const routeInput = el('input', { type: 'text', id: 'route', list: 'route-names', autocomplete: 'off', spellcheck: 'false', placeholder: 'GET /products/{id}', value: route,
    oninput: () => { radio('begin', 'route').checked = true; } });
  const interval = el('input', { type: 'number', id: 'interval', min: '0.1', max: '1000', step: 'any', placeholder: '10', inputmode: 'decimal' });
  const length = el('input', { type: 'number', id: 'length', min: '0.1', step: 'any', value: '10', inputmode: 'decimal' });
  const process = el('input', { type: 'checkbox', id: 'process' });
  const content = el('ul', { id: 'content-list' });
  /** @type {string[]} */
  let modules = [];
  const button = el('button', { type: 'submit', class: 'primary', id: 'start' }, 'Start session');
  const choice = (/** @type {string} */ name, /** @type {string} */ value, /** @type {string} */ text, checked = false) => el('span', { class: 'check' },
    el('input', { type: 'radio', name, value, id: `${name}-${value}`, checked }), el('label', { for: `${name}-${value}` }, text));
  const node = el('form', { class: 'start', id: 'start-form', hidden: true, onsubmit: submit, oninput: describe },
    el('fieldset', {}, el('legend', {}, 'Begin'),
      choice('begin', 'now', 'now', !route), choice('begin', 'route', 'with the next request', Boolean(route)),
      el('div', { class: 'named' }, el('label', { for: 'route' }, 'named'), routeInput, names),
      el('div', { class: 'named' }, el('label', { for: 'length' }, 'for'), length, ' s')),
    el('fieldset', {}, el('legend', {}, 'Samples of'),
      choice('samples', 'cpu', 'code that runs', true), choice('samples', 'wall', 'all goroutines, waiting too'), choice('samples', 'none', 'nothing'),
      el('span', { class: 'check' }, el('label', { for: 'interval' }, 'every '), interval, ' ms')),
    el('fieldset', {}, el('legend', {}, 'Of the whole process'),
      el('span', { class: 'check', title: 'Costs two garbage collections' }, process, el('label', { for: 'process' }, 'heap, mutexes, blocking'))),
    button,
    el('section', { class: 'content', 'aria-labelledby': 'content-title' },
      el('h2', { id: 'content-title' }, 'What it will contain, and what it costs'), content, el('p', { class: 'muted' }, cost)));
  const radio = (/** @type {string} */ name, /** @type {string} */ value) => /** @type {HTMLInputElement} */ (node.querySelector(`#${name}-${value}`));

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    /** @type {Rpc.StartProfilerArg} */
    const argument = { startMode: 'START_MODE_IMMEDIATE', wall: radio('samples', 'wall').checked, noSamples: radio('samples', 'none').checked, process: process.checked };
    if (length.value) argument.length = 1000 * length.valueAsNumber;
    if (interval.value) argument.sampleInterval = interval.valueAsNumber;
    if (radio('begin', 'route').checked) Object.assign(argument, { startMode: 'START_MODE_URL', route: routeInput.value.trim() });
    act(button, alert, () => call('StartProfiler', argument));
  }

  // describe tells in words what the session of this form will have.
  function describe() {
    const only = modules.includes('*') ? 'all modules' : modules.map((m) => ({ main: 'this program', std: 'the standard library' })[m] || m).join(', ');
    const named = modules.includes('*') ? `They name functions of ${only}.` : `They name functions of ${only}. Functions of other modules are hidden by the policy.`;
    const lines = ['Requests, calls and measures with their names and times, marks with their attributes, and garbage collections, of the whole program.'];
    if (radio('samples', 'cpu').checked) lines.push(`Samples of the code that runs. ${named}`);
    if (radio('samples', 'wall').checked) lines.push(`Samples of all goroutines, also of those that wait. ${named}`);
    if (radio('samples', 'none').checked) lines.push('No samples, so no profiles.');
    if (process.checked) lines.push('Profiles of allocations, mutexes and blocking of the whole process. They cost two garbage collections.');
    lines.push(length.value ? `It stops by itself ${radio('begin', 'route').checked ? `${length.value} s after that request began` : `after ${length.value} s`}.` : 'It goes on until it is stopped, or until the longest time that the program allows.');
    lines.push('It stays in the memory of the program until it is released or expires. All who may open this page can see it.');
    reconcile(content, lines, (line) => line, (line) => el('li', {}, line), () => {});
  }

  return {
    node,
    /** @param {Data.sessionList} data */
    tell(data) {
      modules = data.modules || [];
      if (data.longest) length.max = String(data.longest / 1000);
      describe();
    },
    /**
     * @param {boolean} on
     * @param {HTMLElement | null} row
     */
    busy(on, row) {
      off(button, 'disabled', on, row);
      button.title = on ? 'One session at a time: stop the one under way first' : '';
    },
    suggest: (/** @type {string[]} */ all) => reconcile(names, all, (n) => n, (n) => el('option', { value: n }), () => {}),
  };
}

/**
 * @param {Data.sessionRow} s
 * @param {HTMLElement} alert
 */
function makeSession(s, alert) {
  const cell = (/** @type {string} */ name, cls = 'num') => el('td', { class: cls, data: { cell: name } });
  const stop = el('button', { type: 'button', data: { act: 'stop' }, onclick: () => act(stop, alert, () => call('StopProfiler', { sessionID: s.id })) }, 'Stop');
  const drop = el('button', { type: 'button', data: { act: 'release' }, onclick: () => release(s.id, drop, alert) }, 'Release');
  stop.setAttribute('aria-label', `Stop session ${s.id}`);
  drop.setAttribute('aria-label', `Release session ${s.id}`);
  return el('tr', { data: { session: s.id } },
    el('th', { scope: 'row' }, el('a', { href: `#/sessions/${s.id}` }, `Session ${s.id}`), s.route ? el('span', { class: 'muted' }, ' of ', bdi(s.route)) : null),
    cell('state', ''), cell('began', 'wide'), cell('length'), cell('entries', 'num wide'), cell('samples'),
    el('td', { class: 'acts' }, stop, drop));
}

/**
 * @param {HTMLElement} node
 * @param {Data.sessionRow} s
 */
function updateSession(node, s) {
  const cell = (/** @type {string} */ name) => element(node, `[data-cell=${name}]`);
  const button = (/** @type {string} */ name) => /** @type {HTMLButtonElement} */ (element(node, `[data-act=${name}]`));
  const values = { began: clock(s.start), length: s.state === 'waiting' ? '' : lengthOf(s), entries: count(s.entries), samples: count(s.samples) };
  for (const [name, text] of Object.entries(values)) setText(cell(name), text);
  cell('began').title = iso(s.start);
  cell('length').title = costOf(s);
  progress(cell('state'), s);
  off(button('stop'), 'hidden', s.state === 'ready' || s.state === 'processing', node.querySelector('a'));
  off(button('release'), 'hidden', s.state !== 'ready', node.querySelector('a'));
}
