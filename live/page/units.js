// Figures with their units, as charts show them.
import { count, duration } from './format.js';

/**
 * @param {number} n
 * @param {number} step from one unit to the next
 * @param {string[]} units
 */
function scaled(n, step, units) {
  let i = 0;
  for (; n >= step && i < units.length - 1; i++) n /= step;
  return `${n < 10 && i > 0 ? n.toFixed(2) : n < 100 && i > 0 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

/** @param {number} n */
const bytes = (n) => scaled(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
/** @param {number} n */
const decimal = (n) => (n === 0 ? '0' : n < 0.001 ? '< 0.001' : n < 0.1 ? n.toFixed(3) : n < 100 ? n.toFixed(2) : count(Math.round(n)));

/** units has a function for each unit, which writes a number of it. */
export const units = {
  bytes,
  'bytes/s': (/** @type {number} */ n) => `${bytes(n)}/s`,
  count: (/** @type {number} */ n) => count(Math.round(n)),
  '1/s': (/** @type {number} */ n) => `${decimal(n)}/s`,
  goroutines: decimal,
  time: duration,
  cores: (/** @type {number} */ n) => `${decimal(n)} ${n === 1 ? 'core' : 'cores'}`,
};
