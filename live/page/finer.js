// The parts of bars in the part of a request that is shown: finer ones than those of the whole request.
import { get } from './get.js';

const pause = 200; // milliseconds after the last change of the axis
const enough = 0.8; // of the whole: more than that is shown by the parts of the whole
const pixels = 2; // of a part

/**
 * finer asks for the parts of bars of a graph whenever the axis changed.
 * @param {import('./waterfall.js').Waterfall} graph
 * @param {import('./axis.js').Axis} axis
 * @param {string} path
 * @param {AbortSignal} signal
 */
export function finer(graph, axis, path, signal) {
  let timer = 0;
  /** @type {AbortController | null} */
  let asked = null;
  let coarse = true;
  axis.listen(() => {
    clearTimeout(timer);
    asked?.abort();
    timer = setTimeout(() => load().catch(() => {}), pause); // without an answer, the bars have the parts that they had
  });
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    asked?.abort();
  });

  async function load() {
    if (axis.length > enough * axis.total) {
      if (!coarse) graph.segments(null);
      coarse = true;
      return;
    }
    asked = new AbortController();
    const margin = axis.length / 4; // for a pan by a little
    const query = new URLSearchParams({
      from: String(Math.max(0, axis.from - margin)), to: String(Math.min(axis.total, axis.to + margin)),
      columns: String(Math.min(1000, Math.max(16, Math.round((1.5 * graph.lanes.clientWidth) / pixels)))),
    });
    /** @type {Data.windowWaits} */
    const answer = await get(`${path}/waits?${query}`, { signal: asked.signal });
    coarse = false;
    graph.segments(new Map(answer.spans.map((s) => [s.id, s.segments])), answer);
  }
}
