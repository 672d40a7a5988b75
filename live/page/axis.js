// The part of a request's time that is shown, and the ticks of its axis. Times are milliseconds
// since the request's start.

const most = 1e6; // the whole is at most so many times as long as the part that is shown
const least = 1e-4; // of the part, a tenth of a microsecond

/**
 * @typedef {object} Axis the part that is shown
 * @property {number} total
 * @property {number} from
 * @property {number} to
 * @property {number} length of the part
 * @property {boolean} whole nothing is left out
 * @property {(from: number, to: number) => void} set
 * @property {(factor: number, at?: number) => void} zoom
 * @property {(part: number) => void} pan
 * @property {() => void} reset
 * @property {(f: () => void) => void} listen
 */

/**
 * windowOf makes the part of a total that is shown: the whole at first.
 * @param {number} total
 */
export function windowOf(total) {
  /** @type {Set<() => void>} */
  const listeners = new Set();
  const shortest = Math.min(total, Math.max(total / most, least));
  /** @type {Axis} */
  const axis = {
    total,
    from: 0,
    to: total,
    get length() { return axis.to - axis.from; },
    get whole() { return axis.from === 0 && axis.to === total; },

    /**
     * set shows from one time to another, as far as they are within the whole.
     * @param {number} from
     * @param {number} to
     */
    set(from, to) {
      if (!Number.isFinite(from) || !Number.isFinite(to)) return;
      const length = Math.min(total, Math.max(shortest, to - from));
      const middle = (from + to) / 2;
      const start = Math.min(total - length, Math.max(0, to - from < shortest ? middle - length / 2 : from));
      const end = length === total ? total : start + length;
      if (start === axis.from && end === axis.to) return;
      [axis.from, axis.to] = [start, end];
      listeners.forEach((f) => f());
    },

    /**
     * zoom shows a time that is factor times as long. The time at stays where it is.
     * @param {number} factor
     * @param {number} [at]
     */
    zoom(factor, at = (axis.from + axis.to) / 2) {
      axis.set(at - (at - axis.from) * factor, at + (axis.to - at) * factor);
    },

    /**
     * pan moves by a part of what is shown.
     * @param {number} part
     */
    pan(part) {
      const by = Math.min(total - axis.to, Math.max(-axis.from, part * axis.length));
      axis.set(axis.from + by, axis.to + by);
    },

    reset: () => axis.set(0, total),

    /**
     * listen calls f after each change.
     * @param {() => void} f
     */
    listen(f) { listeners.add(f); },
  };
  return axis;
}

/**
 * vars are the CSS variables by which graphs.css places what is on the axis.
 * @param {Axis} axis
 */
export const vars = (axis) => ({ from: axis.from / axis.total, zoom: axis.total / axis.length });

/**
 * stepOf is the round distance of at most n ticks: 1, 2 or 5 of a power of ten.
 * @param {number} length
 * @param {number} n
 */
export function stepOf(length, n) {
  const power = 10 ** Math.floor(Math.log10(length / n));
  return [1, 2, 5].map((x) => x * power).find((step) => length / step <= n * (1 + 1e-9)) ?? 10 * power;
}

/**
 * within is a share of the axis, cut at the ends of the whole.
 * @param {number} x
 */
export const within = (x) => Math.min(1, Math.max(0, x));

/** @type {[number, string][]} */
const units = [[1e3, 's'], [1, 'ms'], [1e-3, 'µs'], [1e-6, 'ns']];

/**
 * ticks are the times of an axis with at most n of them, each with its text: { at, text }.
 * @param {Axis} axis
 * @param {number} n
 */
export function ticks(axis, n) {
  const step = stepOf(axis.length, n);
  const [unit, name] = units.find(([u]) => axis.to >= u) || units[units.length - 1];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  const all = [];
  for (let i = Math.ceil(axis.from / step - 1e-9); i * step <= axis.to * (1 + 1e-12) && all.length <= n; i++) {
    all.push({ at: i * step, text: i === 0 ? '0' : `${((i * step) / unit).toFixed(digits)} ${name}` });
  }
  return all;
}
