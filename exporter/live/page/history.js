// The samples of the runtime that the page has: the program sends new ones only.

/** merged returns the samples of before and of more, each once, the oldest first. Samples of another instance are left out. */
export function merged(before, more) {
  if (before?.instance !== more.instance) return more;
  const last = before.samples.at(-1)?.at ?? 0;
  const samples = [...before.samples, ...more.samples.filter((s) => s.at > last)];
  return { ...more, samples: samples.slice(-more.maxSamples) };
}

/** lastOf is the time of the last sample, or undefined. */
export function lastOf(history) {
  return history?.samples.at(-1)?.at;
}
