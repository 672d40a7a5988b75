// What can be done with a session, and how it is doing.
import { el, setText } from './dom.js';
import { duration, percent } from './format.js';
import { call } from './get.js';

/**
 * complain says in an alert what went wrong.
 * @param {HTMLElement} alert
 * @param {Error} error
 */
export function complain(alert, error) {
  alert.hidden = false;
  setText(alert, error.message);
}

/**
 * act does something once at a time for a button, and says what went wrong.
 * @param {HTMLElement} button
 * @param {HTMLElement} alert
 * @param {() => Promise<unknown>} action
 */
export async function act(button, alert, action) {
  if (button.getAttribute('aria-busy') === 'true') return false;
  button.setAttribute('aria-busy', 'true');
  alert.hidden = true;
  try {
    await action();
    return true;
  } catch (error) {
    complain(alert, error);
    return false;
  } finally {
    button.removeAttribute('aria-busy');
  }
}

/**
 * release forgets a session, after a question: there is no way back. The question is a part of
 * the view: who leaves that has not answered.
 * @param {number} id
 * @param {HTMLElement} button
 * @param {HTMLElement} alert
 */
export function release(id, button, alert) {
  return new Promise((done) => {
    const dialog = el('dialog', { id: 'release', 'aria-labelledby': 'release-title', onclose: async () => {
      dialog.remove();
      done(dialog.returnValue === 'yes' && await act(button, alert, () => call('ReleaseSession', { sessionID: id })));
    } },
      el('h2', { id: 'release-title' }, `Release session ${id}?`),
      el('p', {}, 'What it recorded is gone then. Files that were downloaded stay.'),
      el('div', { class: 'acts' },
        el('button', { type: 'button', class: 'primary', id: 'release-yes', onclick: () => dialog.close('yes') }, 'Release'),
        el('button', { type: 'button', autofocus: true, onclick: () => dialog.close('') }, 'Keep')));
    button.closest('main')?.append(dialog);
    dialog.showModal();
  });
}

/** @type {Record<string, string>} */
const states = { waiting: 'waits for a request', recording: 'recording', processing: 'putting together', ready: 'ready' };

/**
 * progress shows the state of a session in an element.
 * @param {HTMLElement} node
 * @param {Data.sessionRow} s
 */
export function progress(node, s) {
  if (!node.firstChild) node.append(el('span', { class: 'state' }), ' ', el('span', { class: 'muted' }), el('progress', { max: 1, 'aria-label': 'Progress' }));
  const [state, more, bar] = /** @type {[HTMLElement, HTMLElement, HTMLProgressElement]} */ (/** @type {unknown} */ (node.children));
  state.dataset.state = s.state;
  setText(state, states[s.state] || s.state);
  const words = s.state === 'processing' ? percent(s.progress, 1) : s.state === 'ready' ? '' : s.sampler || 'no samples';
  setText(more, s.dropped ? `${words} (${s.dropped} entries dropped)` : words);
  bar.hidden = s.state === 'ready' || (s.state !== 'processing' && !s.limit);
  bar.setAttribute('aria-label', s.state === 'processing' ? 'Putting events together' : 'Length so far');
  bar.value = s.state === 'processing' ? s.progress : Math.min(1, s.length / (s.limit || 1));
}

/**
 * lengthOf is the length of a session, and its limit while it records.
 * @param {Data.sessionRow} s
 */
export const lengthOf = (s) => (s.state === 'recording' ? `${duration(s.length)} of ${duration(s.limit)}` : duration(s.length));

/**
 * costOf is the time that recording took so far, and its share of a core.
 * @param {Data.sessionRow} s
 */
export const costOf = (s) => (s.cost > 0 && s.length > 0 ? `${duration(s.cost)} of CPU for recording, ${percent(s.cost, s.length)} of a core` : '');
