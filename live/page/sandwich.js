// A function between its callers and its callees: two flame graphs that meet in it.
import { bdi, el } from './dom.js';
import { duration, percent } from './format.js';
import { flame } from './flame.js';
import { hiddenNote, legend, moduleOf, placeOf } from './functions.js';

/**
 * sandwich shows what data/v1/profile/sandwich answered. address is the address of a function's sandwich.
 * @param {Data.sandwich} s
 * @param {{ address: (name: string) => string }} options
 */
export function sandwich(s, { address }) {
  const f = s.functions[s.function];
  const total = s.callees.nodes[0].total;
  const graph = (/** @type {Data.flameNodes} */ part, /** @type {boolean} */ up, /** @type {string} */ id, /** @type {string} */ text) => el('section', { 'aria-labelledby': `${id}-title` },
    el('h2', { id: `${id}-title` }, text),
    flame({ ...s, ...part, title: '' }, { id, up, label: `${text} of ${f.name}`, whole: s.total, address, small: true }));
  return [
    el('p', { class: 'facts', id: 'sandwich-about' },
      el('strong', {}, bdi(f.name)), el('span', {}, `${percent(total, s.total)} of all, ${duration(total)}`), f.self ? el('span', {}, `${duration(f.self)} in itself`) : null,
      moduleOf(f) ? bdi(moduleOf(f)) : null, f.file ? el('span', { title: f.file }, bdi(placeOf(f))) : null),
    legend(s.functions),
    graph(s.callers, true, 'callers', 'Callers'),
    graph(s.callees, false, 'callees', 'Callees'),
    hiddenNote(s),
  ].filter((node) => node !== null);
}
