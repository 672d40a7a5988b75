// What the server tells by itself: server-sent events, and polling where those do not come
// through. A page that nobody sees is not kept up to date.
import { get } from './get.js';

const pollEvery = 3000;
/** @type {(keyof Data.events)[]} */
const kinds = ['page', 'requests', 'routes', 'sessions', 'waits', 'counts', 'deaths', 'runtime'];

/**
 * stream calls onData(kind, data) for what is new, of the kinds below, and onState with "live", "connecting", "polling",
 * "paused" or "offline". lastSample returns the time of the last sample of the runtime, or undefined.
 * @param {(kind: any, data: any) => void} onData
 * @param {(state: string) => void} onState
 * @param {() => number | undefined} lastSample
 */
export function stream(onData, onState, lastSample = () => undefined) {
  /** @type {EventSource | null} */
  let source = null;
  let timer = 0;
  let paused = false;
  let turn = 0; // another after each start and stop: what was asked for in one before is of no use

  function stop() {
    turn++;
    source?.close();
    source = null;
    clearTimeout(timer);
  }

  function start() {
    stop();
    if (paused || document.hidden) return;
    onState('connecting');
    source = new EventSource('data/v1/stream');
    source.onopen = () => onState('live');
    for (const kind of kinds) {
      source.addEventListener(kind, (event) => onData(kind, JSON.parse(event.data)));
    }
    source.onerror = () => {
      if (source?.readyState === EventSource.CLOSED) poll(); // refused: it will not try again by itself
      else onState('connecting');
    };
  }

  // poll asks a few times, then tries a stream again.
  async function poll(times = 5) {
    stop();
    const mine = turn;
    const all = await get(`data/v1/overview?after=${lastSample() ?? ''}`).catch(() => null);
    if (mine !== turn) return;
    timer = setTimeout(() => (times > 1 ? poll(times - 1) : start()), pollEvery);
    onState(all ? 'polling' : 'offline');
    for (const [kind, data] of Object.entries(all || {})) onData(kind, data);
  }

  document.addEventListener('visibilitychange', () => (document.hidden ? stop() : start()));
  start();
  return {
    /** @param {boolean} on */
    pause(on) {
      paused = on;
      if (on) {
        stop();
        onState('paused');
      } else start();
    },
  };
}
