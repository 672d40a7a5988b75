// Asking the server: data by GET, everything that changes something or takes long by POST, most of it by the
// profiler's service.

async function body(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return { error: text.trim() || `status ${response.status}` };
  }
}

/** get fetches data; the error has the server's words, and the field of a form that is wrong. */
export async function get(path, options = {}) {
  const response = await fetch(path, options);
  const data = await body(response);
  if (!response.ok) throw Object.assign(new Error(data.error), { field: data.field });
  return data;
}

/** send posts an argument as JSON, which changes something. */
export function send(path, argument) {
  return get(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(argument) });
}

/** call is a procedure of perfline.profiler.v1.ProfilerService, by Connect's protocol with JSON. */
export async function call(procedure, argument) {
  const response = await fetch(`rpc/perfline.profiler.v1.ProfilerService/${procedure}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1' },
    body: JSON.stringify(argument),
  });
  const data = await body(response);
  if (!response.ok) throw new Error(data.message || data.error || `status ${response.status}`);
  return data;
}
