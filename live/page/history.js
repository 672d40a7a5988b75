// The samples of the runtime that the page has: the program sends new ones only.

/**
 * merged returns the samples of before and of more, each once, the oldest first. Samples of another
 * instance are left out.
 * @param {Data.runtimeHistory | undefined} before
 * @param {Data.runtimeHistory} more
 * @returns {Data.runtimeHistory}
 */
export function merged(before, more) {
  if (before?.instance !== more.instance) return more;
  const last = before.samples.at(-1)?.at ?? 0;
  const samples = [...before.samples, ...more.samples.filter((s) => s.at > last)];
  return { ...more, samples: samples.slice(-more.maxSamples) };
}

/**
 * lastOf is the time of the last sample, or undefined.
 * @param {Data.runtimeHistory | undefined} history
 */
export function lastOf(history) {
  return history?.samples.at(-1)?.at;
}

/**
 * sampleAt is the index of the first sample at a time or after it; the last one if there is none,
 * and without a time.
 * @param {Data.runtimeRow[]} samples
 * @param {number | null} at
 */
export function sampleAt(samples, at) {
  const i = at === null ? -1 : samples.findIndex((s) => s.at >= at);
  return i < 0 ? samples.length - 1 : i;
}

/**
 * sampleByKey is the index that a key leads to from sample i of n; undefined if it leads nowhere.
 * @param {string} key
 * @param {number} i
 * @param {number} n
 */
export function sampleByKey(key, i, n) {
  const to = { ArrowLeft: i - 1, ArrowDown: i - 1, ArrowRight: i + 1, ArrowUp: i + 1, PageDown: i - 12, PageUp: i + 12, Home: 0, End: n - 1 }[key];
  return to === undefined ? undefined : Math.max(0, Math.min(to, n - 1));
}

/**
 * nearest is the sample that is nearest to a time, the earlier one of two.
 * @param {Data.runtimeRow[]} samples
 * @param {number} at
 */
export function nearest(samples, at) {
  return samples.reduce((a, b) => (Math.abs(b.at - at) < Math.abs(a.at - at) ? b : a));
}
