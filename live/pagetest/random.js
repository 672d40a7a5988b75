// Random numbers that are the same in each run.

/** random returns a function like Math.random that begins with a seed. */
export function random(seed) {
  let state = seed;
  return () => { // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x ^= x + Math.imul(x ^ (x >>> 7), 61 | x);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}
