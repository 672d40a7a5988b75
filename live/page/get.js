// Asking the server: data by GET, everything that changes something or takes long by POST, most of it by the
// profiler's service.

import { noteInstance } from './instance.js';

/** @typedef {Error & { field?: string }} AnswerError */

/** @param {Response} response */
async function body(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return { error: text.trim() || `status ${response.status}` };
  }
}

/**
 * get fetches data; the error has the server's words, and the field of a form that is wrong.
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<any>} of the type that docs/page-json.md has for the path
 */
export async function get(path, options = {}) {
  const response = await fetch(path, options);
  noteInstance(response.headers);
  const data = await body(response);
  if (!response.ok) throw Object.assign(new Error(data.error), { field: data.field });
  return data;
}

/**
 * send posts an argument as JSON, which changes something.
 * @param {string} path
 * @param {object} argument
 */
export function send(path, argument) {
  return get(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(argument) });
}

/**
 * @typedef {object} Procedures the arguments and the answers of the profiler's service
 * @property {[Rpc.StartProfilerArg, Rpc.SessionID]} StartProfiler
 * @property {[Rpc.StopProfilerArg, Rpc.Session]} StopProfiler
 * @property {[Rpc.ReleaseSessionArg, Rpc.Default]} ReleaseSession
 * @property {[Rpc.GetSessionArg, Rpc.Session]} GetSession
 * @property {[Rpc.GetEventsArg, Rpc.Events]} GetEvents
 */

/**
 * call is a procedure of perfline.profiler.v1.ProfilerService, by Connect's protocol with JSON.
 * @template {keyof Procedures} P
 * @param {P} procedure
 * @param {Procedures[P][0]} argument
 * @returns {Promise<Procedures[P][1]>}
 */
export async function call(procedure, argument) {
  const response = await fetch(`rpc/perfline.profiler.v1.ProfilerService/${procedure}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Connect-Protocol-Version': '1' },
    body: JSON.stringify(argument),
  });
  noteInstance(response.headers);
  const data = await body(response);
  if (!response.ok) throw new Error(data.message || data.error || `status ${response.status}`);
  return data;
}
