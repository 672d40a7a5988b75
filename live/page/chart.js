// A small chart of the last minutes: its meaning, the values at a time, the lines, and the same as a table.
import { el, reconcile, setText } from './dom.js';
import { time } from './format.js';
import { plot } from './plot.js';
import { nearest, sampleAt, sampleByKey } from './history.js';
import { units } from './units.js';

/**
 * @typedef {object} Chart
 * @property {string} id
 * @property {string} title
 * @property {keyof typeof units} unit
 * @property {string} about
 * @property {import('./plot.js').Series[]} series
 */

/**
 * chart makes a chart. The reader points at a sample with the mouse, or with arrow keys: onPoint
 * gets its time, or null.
 * @param {Chart} about
 * @param {(at: number | null) => void} onPoint
 */
export function chart({ id, title, unit, about, series }, onPoint) {
  const write = units[unit];
  const picture = plot(series);
  const values = series.map(() => el('strong', { class: 'value' }));
  const legend = el('ul', { class: 'legend' }, series.map((s, i) => el('li', {},
    el('span', { class: `swatch series ${s.look || `s${i}`}`, 'aria-hidden': 'true' }), series.length > 1 ? `${s.name} ` : '', values[i])));
  const slider = el('div', { class: 'plot', id: `plot-${id}`, role: 'slider', tabindex: '0', 'aria-label': `${title}: values at a time`, 'aria-valuemin': 0 }, picture.root);
  const range = el('span', { class: 'range' });
  const from = el('span');
  const to = el('span');
  const body = el('tbody');
  const table = el('details', { ontoggle: fill }, el('summary', {}, 'Values'),
    el('div', { class: 'values', role: 'group', tabindex: '0', 'aria-label': `Values of ${title}` }, el('table', {},
      el('thead', {}, el('tr', {}, ['Time', ...series.map((s) => s.name)].map((h, i) => el('th', { scope: 'col', class: i ? 'num' : '' }, h)))), body)));
  const section = el('section', { class: 'chart', 'aria-labelledby': `chart-${id}`, data: { chart: id }, hidden: true },
    el('h2', { id: `chart-${id}` }, title), el('p', { class: 'muted' }, about), legend, slider,
    el('p', { class: 'axis-text', 'aria-hidden': 'true' }, from, range, to), table);

  /** @type {Data.runtimeRow[]} */
  let samples = [];
  let span = { from: 0, to: 1 };
  /** @type {number | null} */
  let pointed = null; // a time

  /** @param {Data.runtimeRow} s */
  const known = (s) => series.map(({ of }) => of(s)).filter((v) => v !== undefined);
  /**
   * @param {Data.runtimeRow} s
   * @param {import('./plot.js').Series['of']} of
   */
  const text = (s, of) => {
    const v = of(s);
    return v === undefined ? 'not known' : write(v);
  };
  const at = () => sampleAt(samples, pointed);

  function read() {
    const s = samples[at()];
    series.forEach(({ of }, i) => setText(values[i], text(s, of)));
    section.classList.toggle('lost', series.some(({ look, of }) => look === 'bad' && (of(s) ?? 0) > 0));
    slider.setAttribute('aria-valuemax', String(samples.length - 1));
    slider.setAttribute('aria-valuenow', String(at()));
    slider.setAttribute('aria-valuetext', `${time(s.at)}: ${series.map(({ name, of }) => `${name} ${text(s, of)}`).join(', ')}`);
    picture.point(pointed === null ? null : (s.at - span.from) / (span.to - span.from));
  }

  function fill() {
    if (!table.open) return;
    reconcile(body, samples.toReversed(), (s) => String(s.at), (s) => el('tr', {},
      el('th', { scope: 'row' }, time(s.at)), series.map(({ of }) => el('td', { class: 'num' }, text(s, of)))), () => {});
  }

  slider.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const i = sampleByKey(event.key, at(), samples.length);
    if (event.key === 'Escape') onPoint(null);
    else if (i !== undefined) onPoint(samples[i].at);
    else return;
    event.preventDefault();
  });
  slider.addEventListener('pointermove', (event) => {
    const { left, width } = slider.getBoundingClientRect();
    const place = span.from + ((event.clientX - left) / width) * (span.to - span.from);
    onPoint(nearest(samples, place).at);
  });
  slider.addEventListener('pointerleave', () => onPoint(null));
  slider.addEventListener('blur', () => onPoint(null));

  return {
    section,
    /**
     * update shows samples on an axis of time. A chart without any value is hidden.
     * @param {Data.runtimeRow[]} all
     * @param {{ from: number, to: number }} axis
     */
    update(all, axis) {
      const numbers = all.flatMap(known);
      section.hidden = numbers.length === 0;
      if (section.hidden) return;
      [samples, span] = [all, axis];
      const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
      picture.draw(all, { ...axis, most: most || 1 });
      setText(range, least === most ? `always ${write(most)}` : `min ${write(least)}, max ${write(most)}`);
      setText(from, time(axis.from));
      setText(to, time(axis.to));
      read();
      fill();
    },
    /**
     * point shows the values at the time of a sample, or the last ones.
     * @param {number | null} next
     */
    point(next) {
      pointed = next;
      if (!section.hidden) read();
    },
  };
}
