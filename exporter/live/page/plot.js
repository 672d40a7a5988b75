// The lines and bars of a chart, as SVG. A value that is missing is a gap.

const svg = 'http://www.w3.org/2000/svg';
const width = 1000;
const height = 100;

function node(name, attributes) {
  const n = document.createElementNS(svg, name);
  for (const [key, value] of Object.entries(attributes)) n.setAttribute(key, value);
  return n;
}

/** plot makes the picture of a chart. Its words are beside it. */
export function plot(series) {
  const root = node('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' });
  const paths = series.map((s, i) => node('path', { class: `series ${s.look || `s${i}`}${s.bars ? ' bars' : ''}` }));
  const cursor = node('path', { class: 'cursor' });
  root.append(...paths, cursor);
  return {
    root,
    /** draw shows samples from one time to another, and values up to most. */
    draw(samples, { from, to, most, every }) {
      const x = (at) => ((at - from) / (to - from)) * width;
      const y = (v) => height - 1 - (v / most) * (height - 4);
      series.forEach((s, i) => paths[i].setAttribute('d', s.bars ? bars(samples, s.of, x, y) : line(samples, s.of, x, y, every)));
    },
    /** point shows the cursor at a share of the width, or hides it. */
    point(share) {
      cursor.setAttribute('d', share === null ? '' : `M${(share * width).toFixed(1)} 0V${height}`);
    },
  };
}

// line begins anew after a gap. A value between two gaps is a dot: a line without length, with round ends.
function line(samples, of, x, y, every) {
  let d = '';
  let last = null;
  for (const s of samples) {
    const v = of(s);
    if (v === undefined) {
      last = null;
      continue;
    }
    const place = `${x(s.at).toFixed(1)} ${y(v).toFixed(1)}`;
    d += last === null || s.at - last > 1.5 * every ? `M${place}h0` : `L${place}`;
    last = s.at;
  }
  return d;
}

function bars(samples, of, x, y) {
  return samples.filter((s) => of(s) > 0).map((s) => `M${x(s.at).toFixed(1)} ${height}V${y(of(s)).toFixed(1)}`).join('');
}
