// Addresses of views, and the state of the overview in its own: how routes are shown, and which requests are asked for.

/** elsewhere reports whether the reader is on the way to another view than that of path. The view learns it a moment later. */
export const elsewhere = (path) => (location.hash || '#/').split('?')[0] !== path;

/** fields describe requests, by the names that the server knows them by. */
export const fields = ['text', 'route', 'class', 'status', 'min', 'max', 'from', 'to', 'attribute'];

const known = ['window', 'sort', ...fields];

/** read returns the state of an address's parameters; a field without a value is "". */
export function read(params) {
  const state = Object.fromEntries(known.map((name) => [name, params.get(name)?.trim() ?? '']));
  return { ...state, window: state.window === 'start' ? 'start' : '' };
}

function parameters(state, names) {
  return new URLSearchParams(names.filter((name) => state[name]).map((name) => [name, state[name]]));
}

/** hash returns the address of a state. */
export function hash(state) {
  const q = parameters(state, known);
  return `#/${q.size ? `?${q}` : ''}`;
}

/** question returns the parameters of the requests that a state asks for; without them, it is "". */
export const question = (state) => parameters(state, fields).toString();
