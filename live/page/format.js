// Numbers and texts as people read them.

/** @param {number} x */
const digits = (x) => x.toFixed(Math.abs(x) < 10 ? 2 : Math.abs(x) < 100 ? 1 : 0);

/**
 * duration has three digits and a unit; ms is in milliseconds.
 * @param {number} ms
 */
export function duration(ms) {
  const abs = Math.abs(ms);
  if (abs === 0) return '0';
  if (abs < 1e-3) return `${Math.round(ms * 1e6)} ns`;
  if (abs < 1) return `${digits(ms * 1e3)} µs`;
  if (abs < 1e3) return `${digits(ms)} ms`;
  if (abs < 60e3) return `${digits(ms / 1e3)} s`;
  const s = Math.round(ms / 1e3);
  return `${Math.floor(s / 60)} min ${s % 60} s`;
}

/**
 * percent is a share of the whole.
 * @param {number} part
 * @param {number} whole
 */
export function percent(part, whole) {
  return `${(whole > 0 ? (100 * part) / whole : 0).toFixed(1)} %`;
}

/** @param {number} n */
const two = (n) => String(n).padStart(2, '0');

/**
 * clock is the time of day here, of milliseconds since the epoch.
 * @param {number} ms
 */
export function clock(ms) {
  const d = new Date(ms);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, '0')}`;
}

/**
 * time is the time of day here to the second.
 * @param {number} ms
 */
export const time = (ms) => clock(ms).slice(0, 8);

/**
 * rate is how many there are in a second.
 * @param {number} n
 */
export function rate(n) {
  return n >= 100 ? count(Math.round(n)) : n >= 10 ? n.toFixed(1) : n > 0 && n < 0.005 ? '< 0.01' : n.toFixed(2);
}

/**
 * iso is the time in full and in UTC, as logs have it.
 * @param {number} ms
 */
export const iso = (ms) => new Date(ms).toISOString();

/**
 * count groups digits.
 * @param {number | string | undefined} n 64 bits of the profiler's service are a text
 */
export const count = (n) => Number(n || 0).toLocaleString('en');

/**
 * plural is "1 sample" or "2 samples".
 * @param {number | string | undefined} n
 * @param {string} one
 */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${Number(n) === 1 ? one : many}`;

// Other characters (of control, of direction, unassigned), all spaces but the one, what Unicode
// has as nothing to be seen, and blanks that it does not: text.go has the same.
const invisible = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}\ufffd\u2800\u{1d159}]/u;

/**
 * shown is the beginning of a text from outside, with what cannot be seen as codes. What comes
 * from data/ is that already; what comes from rpc/ is not.
 * @param {string | undefined} text
 */
export function shown(text, max = 200) {
  const characters = [...String(text).slice(0, 4 * max)];
  const cut = characters.length > max || String(text).length > 4 * max;
  return characters.slice(0, max)
    .map((c) => (invisible.test(c) ? `\\u${Number(c.codePointAt(0)).toString(16).padStart(4, '0')}` : c))
    .join('') + (cut ? '…' : '');
}
