// Asking again and again for data that changes.
import { get } from './get.js';

/**
 * asker asks for data. A question replaces another one under way, unless it is the same: on a slow line, a
 * question that is repeated would never be answered.
 * @template T
 * @param {(data: T) => void} onData
 * @param {(error: import('./get.js').AnswerError) => void} onError
 */
export function asker(onData, onError = () => {}) {
  /** @type {{ path: string, control: AbortController } | null} */
  let under = null; // the question under way

  /** @param {string} path */
  async function ask(path) {
    if (under?.path === path) return;
    under?.control.abort();
    const mine = { path, control: new AbortController() };
    under = mine;
    const [data, error] = await get(path, { signal: mine.control.signal }).then((d) => [d], (e) => [null, e]);
    if (under !== mine) return;
    under = null;
    if (error) onError(error);
    else onData(data);
  }
  return {
    ask,
    stop() {
      under?.control.abort();
      under = null;
    },
  };
}
