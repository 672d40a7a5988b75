// A flame graph, the whole at the top, or at the bottom for callers. It is a tree to assistive technology: arrow keys go
// through it, Enter zooms in, Escape zooms out.
import { bdi, el, element, elements, off, setText, setVars, targetOf } from './dom.js';
import { duration, percent, plural } from './format.js';
import { hiddenNote, legend, matches, moduleOf, placeOf, withoutPath } from './functions.js';

const narrowest = 1 / 1500; // of the width; what is narrower is not drawn

/**
 * flame shows nodes and functions of a profile. Options, all of which may be left out:
 *   id, label   of the tree
 *   up          draws the whole at the bottom
 *   whole       the time that shares are of
 *   address     returns the address of a function's sandwich
 *   onSelect    gets the name of the function that is clicked
 *   search, onSearch   the words to find at first, and a listener to changes
 *   text, shade the words for a node, and its class instead of its kind
 *   small       without search and notes
 *   legend      false: without the legend of modules
 *   note        one more sentence
 *
 * @typedef {Data.flameNode & { pair?: Data.amountPair }} GraphNode
 * @typedef {object} Graph
 * @property {GraphNode[]} nodes
 * @property {Data.functionRow[]} functions
 * @property {number} samples
 * @property {string} engine
 * @property {number} interval
 * @property {number} cut
 * @property {number} cutTime
 * @property {string} title
 * @property {string} [hidden]
 * @property {number} [noStack]
 * @property {number} total
 *
 * @typedef {object} Options
 * @property {string} [id]
 * @property {string} [label]
 * @property {boolean} [up]
 * @property {number} [whole]
 * @property {(name: string) => string} [address]
 * @property {(name: string) => void} [onSelect]
 * @property {string} [search]
 * @property {(words: string) => void} [onSearch]
 * @property {(n: Call) => string} [text]
 * @property {(n: Call) => string} [shade]
 * @property {boolean} [small]
 * @property {boolean} [legend]
 * @property {string} [note]
 *
 * @param {Graph} graph
 * @param {Options} options
 */
export function flame(graph, options = {}) {
  const { id = 'flame', up = false, label = `Flame graph of ${graph.title}`, address, onSelect } = options;
  const nodes = callsOf(graph);
  if (!nodes.length || graph.samples === 0) return el('p', { class: 'muted', id: `${id}-empty` }, 'There are no samples of this.');
  const all = nodes[0];
  const whole = options.whole || all.total;
  let zoomed = all;
  let current = all;
  /** @type {Call | null} */
  let described = null;
  let words = (options.search || '').toLowerCase().trim();

  const text = options.text || ((/** @type {Call} */ n) => `${percent(n.total, whole)} of all, ${duration(n.total)}${n.self > 0 && n.self < n.total ? `, ${duration(n.self)} of it in itself` : ''}`);
  const tree = el('div', { class: up ? 'flame up' : 'flame', role: 'tree', 'aria-label': label, id });
  const about = el('p', { class: 'about', id: `${id}-about` });
  const found = el('output', { class: 'muted', id: `${id}-found`, for: `${id}-search` });
  const reset = el('button', { type: 'button', id: `${id}-reset`, disabled: true, onclick: () => zoom(all) }, 'Reset zoom');
  const search = el('input', { type: 'search', id: `${id}-search`, autocomplete: 'off', spellcheck: 'false', value: options.search || '', oninput: () => {
    words = search.value.toLowerCase().trim();
    options.onSearch?.(search.value);
    find();
  } });

  const isFound = (/** @type {Call} */ n) => matches(n.f, words);

  /** @param {Call} n */
  function describe(n) {
    if (n === described) return; // its link stays the same element between a press and a release
    described = n;
    about.replaceChildren(...[
      el('strong', {}, bdi(n.f.name)), ` ${text(n)}`,
      moduleOf(n.f) ? el('span', { class: 'muted' }, ' · ', bdi(moduleOf(n.f))) : null,
      n.f.file ? el('span', { class: 'muted', title: n.f.file }, ' · ', bdi(placeOf(n.f)), n.f.hotLine ? `, most at ${n.f.hotLine}` : '') : null,
      address && n !== all ? el('span', {}, ' · ', el('a', { href: address(n.f.name), class: 'to-sandwich' }, 'callers and callees', el('span', { class: 'sr' }, ` of ${n.f.name}`))) : null,
    ].filter((node) => node !== null));
  }

  function draw() {
    const list = drawnCalls(zoomed);
    const deepest = Math.max(...list.map((n) => n.level));
    if (!list.includes(current)) current = zoomed;
    setVars(tree, { levels: deepest + 1 });
    tree.replaceChildren(...list.map((n) => makeNode(n, up ? deepest - n.level : n.level)));
    tree.classList.toggle('searching', words !== '');
    if (up) tree.scrollTop = tree.scrollHeight;
    off(reset, 'disabled', zoomed === all, element(tree, '[tabindex="0"]'));
  }

  /**
   * @param {Call} n
   * @param {number} level
   */
  function makeNode(n, level) {
    const { at, width } = placeIn(zoomed, n);
    return el('div', {
      role: 'treeitem', 'aria-level': n.level + 1, tabindex: n === current ? 0 : -1, 'aria-label': `${n.f.name}, ${text(n)}`,
      class: `${options.shade && n !== all ? options.shade(n) : n.f.kind || 'none'} ${isFound(n) ? 'found' : ''} ${n.level < zoomed.level ? 'above' : ''}`,
      data: { node: n.index, name: n.f.name }, vars: { at, width, level },
    }, el('span', { 'aria-hidden': 'true' }, bdi(withoutPath(n.f.name))));
  }

  /**
   * @param {HTMLElement} target
   * @returns {Call | undefined}
   */
  const nodeOf = (target) => nodes[Number(/** @type {HTMLElement | null} */ (target.closest?.('[data-node]'))?.dataset.node)];
  const drawn = (/** @type {Call | undefined} */ n) => n && element(tree, `[data-node="${n.index}"]`);

  /** @param {Call | undefined} n */
  function focus(n) {
    const node = drawn(n);
    if (!n || !node) return;
    tree.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
    current = n;
    node.setAttribute('tabindex', '0');
    node.focus({ preventScroll: false });
  }

  /** @param {Call} n */
  function zoom(n) {
    const had = tree.contains(document.activeElement);
    zoomed = n;
    draw();
    if (had) focus(n === all ? current : n);
    describe(n);
    onSelect?.(n === all ? '' : n.f.name);
  }

  function find() {
    const { hits, time } = foundIn(all, isFound);
    for (const node of elements(tree, '[data-node]')) node.classList.toggle('found', isFound(nodes[Number(node.dataset.node)]));
    tree.classList.toggle('searching', words !== '');
    setText(found, words ? `${plural(hits, 'place')}, ${percent(time, all.total)} of all` : '');
  }

  tree.addEventListener('click', (event) => {
    const n = nodeOf(targetOf(event));
    if (n) {
      focus(n);
      zoom(n);
    }
  });
  tree.addEventListener('pointerover', (event) => {
    const n = nodeOf(targetOf(event));
    if (n) describe(n);
  });
  tree.addEventListener('pointerleave', () => describe(current)); // on the way to its link the pointer crosses others
  tree.addEventListener('focusin', (event) => {
    const n = nodeOf(targetOf(event));
    if (!n) return;
    current = n;
    describe(n);
  });
  tree.addEventListener('keydown', (event) => {
    const n = nodeOf(targetOf(event));
    if (!n || event.altKey || event.ctrlKey || event.metaKey) return;
    const beside = n.up && n.level > zoomed.level ? n.up.children.filter(drawn) : [n];
    const inner = () => focus(n.level < zoomed.level ? drawnCalls(zoomed)[n.level + 1] : n.children[0]);
    const outer = () => focus(n.up);
    const act = {
      ArrowDown: up ? outer : inner,
      ArrowUp: up ? inner : outer,
      ArrowRight: () => focus(beside[beside.indexOf(n) + 1]),
      ArrowLeft: () => focus(beside[beside.indexOf(n) - 1]),
      Home: () => focus(all),
      Enter: () => zoom(n),
      ' ': () => zoom(n),
      Escape: () => zoom(all),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  draw();
  describe(all);
  find();
  if (options.small) return el('div', { class: 'flames' }, el('p', { class: 'acts' }, reset), about, tree, cutNote(graph, ''));
  return el('div', { class: 'flames' },
    el('div', { class: 'filter' }, el('label', { for: `${id}-search` }, 'Search functions'), search, reset, found),
    options.legend === false ? '' : legend(graph.functions), about, tree,
    cutNote(graph, `${options.note || `${plural(graph.samples, 'sample')}, ${graph.engine} every ${duration(graph.interval)}.`} Click or Enter zooms, Escape resets, arrow keys move.`),
    hiddenNote(graph));
}

/**
 * @typedef {GraphNode & { f: Data.functionRow, index: number, children: Call[], level: number, at: number, up?: Call }} Call
 */

/**
 * callsOf makes a tree of the nodes of a graph: each has its function, the calls below it and the
 * place where it begins, in the unit of total.
 * @param {Pick<Graph, 'nodes' | 'functions'>} graph
 * @returns {Call[]}
 */
export function callsOf(graph) {
  /** @type {Call[]} */
  const calls = graph.nodes.map((n, index) => ({ ...n, f: graph.functions[n.function], index, children: [], level: 0, at: 0 }));
  for (const n of calls.slice(1)) {
    const up = calls[n.parent];
    n.up = up;
    n.level = up.level + 1;
    n.at = up.children.reduce((sum, c) => sum + c.total, up.at);
    up.children.push(n);
  }
  return calls;
}

/**
 * drawnCalls lists what is drawn while a call is zoomed: its callers, itself, and what is below it and
 * wide enough.
 * @param {Call} zoomed
 */
export function drawnCalls(zoomed) {
  /** @type {Call[]} */
  const list = [];
  for (let n = /** @type {Call | undefined} */ (zoomed); n; n = n.up) list.unshift(n);
  const below = (/** @type {Call} */ n) => n.children.forEach((c) => {
    if (c.total / zoomed.total < narrowest) return;
    list.push(c);
    below(c);
  });
  below(zoomed);
  return list;
}

/**
 * placeIn is the place of a call while another one is zoomed, as shares of the width. The callers of
 * what is zoomed are as wide as it; what is beside it is not drawn.
 * @param {Call} zoomed
 * @param {Call} n
 */
export function placeIn(zoomed, n) {
  if (n.level <= zoomed.level) return { at: 0, width: 1 };
  return { at: (n.at - zoomed.at) / zoomed.total, width: n.total / zoomed.total };
}

/**
 * foundIn counts the calls that are found, and their time: the time of a call within another one that
 * is found counts once.
 * @param {Call} all
 * @param {(n: Call) => boolean} isFound
 */
export function foundIn(all, isFound) {
  let hits = 0;
  let time = 0;
  /**
   * @param {Call} n
   * @param {boolean} counted
   */
  const walk = (n, counted) => {
    const hit = isFound(n);
    if (hit) hits++;
    if (hit && !counted) time += n.total;
    n.children.forEach((c) => walk(c, counted || hit));
  };
  walk(all, false);
  return { hits, time };
}

/**
 * @param {Graph} graph
 * @param {string} words
 */
function cutNote(graph, words) {
  const time = graph.cutTime ? ` of ${duration(graph.cutTime)} in all` : '';
  return el('p', { class: 'muted' }, graph.cut ? `Not drawn: ${plural(graph.cut, 'call')}${time}. ` : '', words);
}
