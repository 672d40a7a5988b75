// Queries, commands, calls, messages and marks without a request: what to do, and the places where they begin.
import { bdi, el, reconcile, setText } from './dom.js';
import { count } from './format.js';
import { fn } from './segments.js';

export function strayTable() {
  const sentence = el('p', { class: 'note' });
  const body = el('tbody');
  const table = el('table', { 'aria-label': 'Without a request' },
    el('thead', {}, el('tr', {}, ['Without a request', 'Begins in', 'Since the first request'].map((h, i) => el('th', { scope: 'col', class: i > 1 ? 'num' : '' }, h)))),
    body);
  const node = el('div', { id: 'strays', hidden: true }, sentence, table);
  return {
    node,
    /** @param {Data.strays | null} s */
    update(s) {
      node.hidden = !s;
      if (!s) return;
      setText(sentence, s.sentence);
      table.hidden = s.places.length === 0;
      reconcile(body, s.places, (p) => `${p.what} ${p.function}`, makePlace, (row, p) => setText(row.children[2], count(p.count)));
    },
  };
}

/** @param {Data.strayRow} p */
function makePlace(p) {
  return el('tr', {}, el('td', {}, p.what),
    el('th', { scope: 'row', class: 'name' }, p.what === 'mark' ? el('code', {}, bdi(p.function)) : fn(p.function)), el('td', { class: 'num' }));
}
