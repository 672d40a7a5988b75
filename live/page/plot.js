// The lines and bars of a chart, as SVG. A value that is missing is a gap.

const svg = 'http://www.w3.org/2000/svg';
const width = 1000;
const height = 100;

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {(sample: Data.runtimeRow) => number | undefined} of
 * @property {string} [look] its class
 * @property {boolean} [bars]
 *
 * @typedef {(x: number) => number} Scale
 */

/**
 * @param {string} name
 * @param {Record<string, string>} attributes
 */
function node(name, attributes) {
  const n = document.createElementNS(svg, name);
  for (const [key, value] of Object.entries(attributes)) n.setAttribute(key, value);
  return n;
}

/**
 * plot makes the picture of a chart. Its words are beside it.
 * @param {Series[]} series
 */
export function plot(series) {
  const root = node('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' });
  const paths = series.map((s, i) => node('path', { class: `series ${s.look || `s${i}`}${s.bars ? ' bars' : ''}` }));
  const cursor = node('path', { class: 'cursor' });
  root.append(...paths, cursor);
  return {
    root,
    /**
     * draw shows samples from one time to another, and values up to most.
     * @param {Data.runtimeRow[]} samples
     * @param {{ from: number, to: number, most: number }} scale
     */
    draw(samples, { from, to, most }) {
      const x = (/** @type {number} */ at) => ((at - from) / (to - from)) * width;
      const y = (/** @type {number} */ v) => height - 1 - (v / most) * (height - 4);
      series.forEach((s, i) => paths[i].setAttribute('d', s.bars ? bars(samples, s.of, x, y) : line(samples, s.of, x, y)));
    },
    /**
     * point shows the cursor at a share of the width, or hides it.
     * @param {number | null} share
     */
    point(share) {
      cursor.setAttribute('d', share === null ? '' : `M${(share * width).toFixed(1)} 0V${height}`);
    },
  };
}

/**
 * line begins anew after a gap: where the interval of a sample does not reach back to the sample before. A value between two gaps is
 * a dot: a line without length, with round ends.
 * @param {Data.runtimeRow[]} samples
 * @param {Series['of']} of
 * @param {Scale} x
 * @param {Scale} y
 */
export function line(samples, of, x, y) {
  let d = '';
  /** @type {number | null} */
  let last = null;
  for (const s of samples) {
    const v = of(s);
    if (v === undefined) {
      last = null;
      continue;
    }
    const place = `${x(s.at).toFixed(1)} ${y(v).toFixed(1)}`;
    d += last === null || s.at - last > 1.5 * s.interval ? `M${place}h0` : `L${place}`;
    last = s.at;
  }
  return d;
}

/**
 * bars has a line from the bottom for each value above 0.
 * @param {Data.runtimeRow[]} samples
 * @param {Series['of']} of
 * @param {Scale} x
 * @param {Scale} y
 */
export function bars(samples, of, x, y) {
  return samples.map((s) => {
    const v = of(s) ?? 0;
    return v > 0 ? `M${x(s.at).toFixed(1)} ${height}V${y(v).toFixed(1)}` : '';
  }).join('');
}
