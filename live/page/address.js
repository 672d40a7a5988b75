// Addresses of views, and the state of the overview in its own: how routes are shown, and which requests are asked for.

let told = location.hash; // the address that the views were told

/** arrive returns the address, which the caller tells to the views. */
export function arrive() {
  told = location.hash;
  return told.slice(1) || '/';
}

/**
 * write puts a view's state into the address, with push as a step that one can go back from. It reports whether it did: it does not when
 * the reader is already on the way to another address, which the views learn a moment later.
 * @param {string} hash
 */
export function write(hash, push = false) {
  if (location.hash !== told) return false;
  history[push ? 'pushState' : 'replaceState'](null, '', hash);
  told = location.hash;
  return true;
}

/** fields describe requests, by the names that the server knows them by. */
export const fields = ['text', 'route', 'class', 'status', 'min', 'max', 'from', 'to', 'attribute'];

const known = ['window', 'sort', ...fields];

/** @typedef {Record<string, string>} State by the names that parameters have */

/**
 * read returns the state of an address's parameters; a field without a value is "".
 * @param {URLSearchParams} params
 * @returns {State}
 */
export function read(params) {
  const state = Object.fromEntries(known.map((name) => [name, params.get(name)?.trim() ?? '']));
  return { ...state, window: state.window === 'start' ? 'start' : '' };
}

/**
 * @param {State} state
 * @param {string[]} names
 */
function parameters(state, names) {
  return new URLSearchParams(names.filter((name) => state[name]).map((name) => [name, state[name]]));
}

/**
 * hash returns the address of a state.
 * @param {State} state
 */
export function hash(state) {
  const q = parameters(state, known);
  return `#/${q.size ? `?${q}` : ''}`;
}

/**
 * question returns the parameters of the requests that a state asks for; without them, it is "".
 * @param {State} state
 */
export const question = (state) => parameters(state, fields).toString();
