// The form that asks for requests. An error of a field is next to it.
import { el, reconcile, setText } from './dom.js';
import { time } from './format.js';
import { fields } from './address.js';

const classes = [['', 'Requests, streams'], ['requests', 'Requests'], ['streams', 'Streams'], ['inner', 'Inside other requests'], ['background', 'Background'], ['housekeeping', 'Pool housekeeping']];

const inputs = [
  ['text', 'Text', 'span or trace id', 'Part of the name of a span or a mark, or the beginning of the trace id'],
  ['route', 'Route', 'GET /users', 'The exact name of the request'],
  ['status', 'Status', '404, 5xx', 'A status, a class of HTTP, "error" or "ok"'],
  ['min', 'At least', '5 ms', 'The least duration, with a unit'],
  ['max', 'Less than', '1.5 s', 'The duration that is too long, with a unit'],
  ['attribute', 'Attribute', 'key or key=value', 'An attribute of any span or mark'],
];

/** @typedef {import('./address.js').State} State */

/**
 * filterForm makes the form. onChange gets the fields that changed, as soon as the reader stops for
 * a moment.
 * @param {(changed: State) => void} onChange
 */
export function filterForm(onChange) {
  let timer = 0;
  /** @type {State} */
  const changed = {};

  /**
   * @param {string} name
   * @param {string} value
   * @param {boolean} [wait]
   */
  function change(name, value, wait) {
    changed[name] = value;
    clearTimeout(timer);
    const now = () => {
      onChange({ ...changed });
      stop();
    };
    if (wait) timer = setTimeout(now, 200);
    else now();
  }

  // stop forgets what has changed and was not told yet.
  function stop() {
    clearTimeout(timer);
    for (const key of Object.keys(changed)) delete changed[key];
  }

  /** @type {Record<string, HTMLInputElement | HTMLSelectElement>} */
  const named = {}; // inputs by their fields
  /** @type {Record<string, HTMLElement>} */
  const wrong = {}; // errors by their fields
  const routes = el('datalist', { id: 'filter-routes' });
  const statuses = el('datalist', { id: 'filter-statuses' }, ['error', 'ok', '2xx', '3xx', '4xx', '5xx'].map((value) => el('option', { value })));
  /**
   * @param {string} name
   * @param {string} label
   * @param {HTMLInputElement | HTMLSelectElement} input
   */
  const field = (name, label, input) => {
    named[name] = input;
    wrong[name] = el('span', { class: 'lost', id: `wrong-${name}`, hidden: true });
    return el('span', { class: 'field', data: { field: name } }, el('label', { for: input.id }, label), input, wrong[name]);
  };
  const texts = inputs.map(([name, label, placeholder, title]) => field(name, label, el('input', {
    type: name === 'text' ? 'search' : 'text', id: `filter-${name}`, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none', placeholder, title,
    list: name === 'route' ? routes.id : name === 'status' ? statuses.id : null,
    oninput: () => change(name, named[name].value.trim(), true),
  })));
  const kinds = el('select', { id: 'filter-class', onchange: () => change('class', kinds.value) },
    classes.map(([value, label]) => el('option', { value }, label)));
  const kind = field('class', 'Of', kinds);
  const errors = el('input', { type: 'checkbox', id: 'errors', onchange: () => change('status', errors.checked ? 'error' : '') });
  const clear = el('button', { type: 'button', id: 'filter-clear', hidden: true, onclick: () => {
    stop();
    named.text.focus();
    onChange(Object.fromEntries(fields.map((name) => [name, ''])));
  } }, 'Clear');
  const ended = el('span', { class: 'badge', id: 'filter-ended', hidden: true });
  const anytime = el('button', { type: 'button', id: 'filter-anytime', hidden: true, onclick: () => {
    named.text.focus();
    change('from', '', true);
    change('to', '');
  } }, 'Any time');
  const found = el('output', { class: 'muted', id: 'found' });
  const node = el('form', { class: 'filter', id: 'filter', role: 'search', 'aria-label': 'Find requests', onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
    texts, kind, routes, statuses,
    el('span', { class: 'check' }, errors, el('label', { for: 'errors' }, 'errors only')), clear, ended, anytime, found);

  return {
    node,
    /** @param {State} state */
    show(state) {
      for (const [name, input] of Object.entries(named)) {
        if (input.value.trim() !== state[name] && !(name in changed)) input.value = state[name];
      }
      errors.checked = state.status === 'error';
      clear.hidden = !fields.some((name) => state[name]);
      const bounded = Boolean(state.from || state.to);
      ended.hidden = anytime.hidden = !bounded;
      const at = (/** @type {string} */ ms) => (Number(ms) > 0 && Number(ms) < 8.64e15 ? time(Number(ms)) : '…');
      if (bounded) setText(ended, `ended ${at(state.from)} to ${at(state.to)}`);
    },
    /**
     * complain shows an error next to its field, and takes others away; without one, it takes all away.
     * @param {import('./get.js').AnswerError | null} error
     */
    complain(error) {
      for (const [name, text] of Object.entries(wrong)) {
        const is = error?.field === name;
        text.hidden = !is;
        setText(text, is && error ? error.message : '');
        if (is) named[name].setAttribute('aria-invalid', 'true');
        else named[name].removeAttribute('aria-invalid');
        if (is) named[name].setAttribute('aria-describedby', text.id);
        else named[name].removeAttribute('aria-describedby');
      }
    },
    stop,
    said: (/** @type {string} */ text) => setText(found, text),
    suggest: (/** @type {string[]} */ names) => reconcile(routes, names, (n) => n, (n) => el('option', { value: n }), () => {}),
  };
}
