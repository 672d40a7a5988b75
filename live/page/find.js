// Search in a request: by names, attributes, errors, and the functions that ran or waited.
import { el, setText } from './dom.js';
import { count } from './format.js';

/**
 * textOf is what a row is found by.
 * @param {import('./rows.js').Row} row
 * @param {Data.partyRow[]} parties
 * @param {string[]} functions
 * @returns {(string | undefined)[]}
 */
export function textOf({ type, span, mark }, parties, functions) {
  const attributes = (/** @type {Data.attributeRow[]} */ list = []) => list.map((a) => `${a.key}=${a.value}`);
  if (mark) return [mark.name, ...attributes(mark.attributes)];
  if (type === 'ran') return (span.hot ?? []).map((f) => f.name);
  if (type !== 'span') return [];
  const waits = (span.waits || []).flatMap((w) => [w.kind, w.in, w.by?.function, w.by?.request]);
  const ended = (span.segments || []).flatMap((s) => [s.in === undefined ? '' : functions[s.in], s.by === undefined ? '' : parties[s.by]?.function]);
  return [span.name, span.scope, span.error, ...attributes(span.attributes), ...waits, ...ended];
}

/**
 * finder searches in the rows of a graph. onChange gets the words.
 * @param {Data.requestDetail} request
 * @param {import('./waterfall.js').Waterfall} graph
 * @param {(words: string) => void} onChange
 */
export function finder(request, graph, onChange) {
  const { parties = [], functions = [] } = request.waits ?? {};
  const texts = new Map(graph.rows.map((row) => [row, [...new Set(textOf(row, parties, functions))].filter(Boolean).join('\n').toLowerCase()]));
  const found = el('output', { class: 'muted', id: 'hits', for: 'search' });
  const input = el('input', {
    type: 'search', id: 'search', placeholder: 'Search', 'aria-label': 'Search in the names, attributes and functions of this request', autocomplete: 'off', spellcheck: 'false',
    'aria-keyshortcuts': 'Enter Shift+Enter Escape',
    oninput: () => {
      find();
      onChange(input.value);
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Enter') go(event.shiftKey ? -1 : 1);
      else if (event.key === 'Escape' && input.value) clear();
      else return;
      event.preventDefault();
    },
  });
  /** @type {import('./rows.js').Row[]} */
  let hits = [];
  let at = -1;

  function find() {
    const words = input.value.toLowerCase().trim();
    hits = words ? graph.rows.filter((row) => texts.get(row)?.includes(words)) : [];
    at = -1;
    const is = new Set(hits);
    for (const row of graph.rows) graph.elementOf(row).classList.toggle('hit', is.has(row));
    graph.node.classList.toggle('searching', words !== '');
    say();
  }

  function say() {
    const all = count(hits.length);
    setText(found, !input.value.trim() ? '' : at < 0 ? `${all} ${hits.length === 1 ? 'hit' : 'hits'}` : `${at + 1} of ${all}`);
  }

  /** @param {number} by */
  function go(by) {
    if (!hits.length) return;
    at = at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
    graph.reveal(hits[at].key);
    say();
  }

  function clear() {
    input.value = '';
    find();
    onChange('');
  }

  return {
    nodes: [input, found],
    /**
     * set searches for words.
     * @param {string} words
     */
    set(words) {
      if (words === input.value) return;
      input.value = words;
      find();
    },
  };
}
