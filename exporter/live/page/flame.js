// A flame graph, the whole at the top, or at the bottom for callers. It is a tree to assistive technology: arrow keys go
// through it, Enter zooms in, Escape zooms out.
import { bdi, el, off, setText } from './dom.js';
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
 */
export function flame(graph, options = {}) {
  const { id = 'flame', up = false, label = `Flame graph of ${graph.title}`, address, onSelect } = options;
  const nodes = graph.nodes.map((n, index) => ({ ...n, f: graph.functions[n.function], index, children: [], level: 0, at: 0 }));
  for (const n of nodes.slice(1)) {
    n.up = nodes[n.parent];
    n.level = n.up.level + 1;
    n.at = n.up.children.reduce((sum, c) => sum + c.total, n.up.at);
    n.up.children.push(n);
  }
  if (!nodes.length || graph.samples === 0) return el('p', { class: 'muted', id: `${id}-empty` }, 'There are no samples of this.');
  const all = nodes[0];
  const whole = options.whole || all.total;
  let zoomed = all;
  let current = all;
  let described = null;
  let words = (options.search || '').toLowerCase().trim();

  const text = options.text || ((n) => `${percent(n.total, whole)} of all, ${duration(n.total)}${n.self > 0 && n.self < n.total ? `, ${duration(n.self)} of it in itself` : ''}`);
  const tree = el('div', { class: up ? 'flame up' : 'flame', role: 'tree', 'aria-label': label, id });
  const about = el('p', { class: 'about', id: `${id}-about` });
  const found = el('output', { class: 'muted', id: `${id}-found`, for: `${id}-search` });
  const reset = el('button', { type: 'button', id: `${id}-reset`, disabled: true, onclick: () => zoom(all) }, 'Reset zoom');
  const search = el('input', { type: 'search', id: `${id}-search`, autocomplete: 'off', spellcheck: 'false', value: options.search || '', oninput: () => {
    words = search.value.toLowerCase().trim();
    options.onSearch?.(search.value);
    find();
  } });

  const isFound = (n) => matches(n.f, words);

  function describe(n) {
    if (n === described) return; // its link stays the same element between a press and a release
    described = n;
    about.replaceChildren(...[
      el('strong', {}, bdi(n.f.name)), ` ${text(n)}`,
      moduleOf(n.f) ? el('span', { class: 'muted' }, ' · ', bdi(moduleOf(n.f))) : null,
      n.f.file ? el('span', { class: 'muted', title: n.f.file }, ' · ', bdi(placeOf(n.f)), n.f.hotLine ? `, most at ${n.f.hotLine}` : '') : null,
      address && n !== all ? el('span', {}, ' · ', el('a', { href: address(n.f.name), class: 'to-sandwich' }, 'callers and callees', el('span', { class: 'sr' }, ` of ${n.f.name}`))) : null,
    ].filter(Boolean));
  }

  // The ancestors of what is zoomed are as wide as it; what is beside it is not drawn.
  function place(n) {
    if (n.level <= zoomed.level) return { at: 0, width: 1 };
    return { at: (n.at - zoomed.at) / zoomed.total, width: n.total / zoomed.total };
  }

  function draw() {
    const list = [];
    for (let n = zoomed; n; n = n.up) list.unshift(n);
    let deepest = zoomed.level;
    const below = (n) => n.children.forEach((c) => {
      if (c.total / zoomed.total < narrowest) return;
      list.push(c);
      deepest = Math.max(deepest, c.level);
      below(c);
    });
    below(zoomed);
    if (!list.includes(current)) current = zoomed;
    tree.style.setProperty('--levels', deepest + 1);
    tree.replaceChildren(...list.map((n) => makeNode(n, up ? deepest - n.level : n.level)));
    tree.classList.toggle('searching', words !== '');
    if (up) tree.scrollTop = tree.scrollHeight;
    off(reset, 'disabled', zoomed === all, tree.querySelector('[tabindex="0"]'));
  }

  function makeNode(n, level) {
    const { at, width } = place(n);
    return el('div', {
      role: 'treeitem', 'aria-level': n.level + 1, tabindex: n === current ? 0 : -1, 'aria-label': `${n.f.name}, ${text(n)}`,
      class: `${options.shade && n !== all ? options.shade(n) : n.f.kind || 'none'} ${isFound(n) ? 'found' : ''} ${n.level < zoomed.level ? 'above' : ''}`,
      data: { node: n.index, name: n.f.name }, vars: { at, width, level },
    }, el('span', { 'aria-hidden': 'true' }, bdi(withoutPath(n.f.name))));
  }

  const nodeOf = (target) => nodes[target.closest?.('[data-node]')?.dataset.node];
  const drawn = (n) => n && tree.querySelector(`[data-node="${n.index}"]`);

  function focus(n) {
    const node = drawn(n);
    if (!node) return;
    tree.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
    current = n;
    node.setAttribute('tabindex', '0');
    node.focus({ preventScroll: false });
  }

  function zoom(n) {
    const had = tree.contains(document.activeElement);
    zoomed = n;
    draw();
    if (had) focus(n === all ? current : n);
    describe(n);
    onSelect?.(n === all ? '' : n.f.name);
  }

  function find() {
    let hits = 0;
    let time = 0;
    const walk = (n, counted) => {
      const hit = isFound(n);
      if (hit) hits++;
      if (hit && !counted) time += n.total;
      n.children.forEach((c) => walk(c, counted || hit));
    };
    walk(all, false);
    for (const node of tree.children) node.classList.toggle('found', isFound(nodes[node.dataset.node]));
    tree.classList.toggle('searching', words !== '');
    setText(found, words ? `${plural(hits, 'place')}, ${percent(time, all.total)} of all` : '');
  }

  tree.addEventListener('click', (event) => {
    const n = nodeOf(event.target);
    if (n) {
      focus(n);
      zoom(n);
    }
  });
  tree.addEventListener('pointerover', (event) => nodeOf(event.target) && describe(nodeOf(event.target)));
  tree.addEventListener('pointerleave', () => describe(current)); // on the way to its link the pointer crosses others
  tree.addEventListener('focusin', (event) => {
    const n = nodeOf(event.target);
    if (!n) return;
    current = n;
    describe(n);
  });
  tree.addEventListener('keydown', (event) => {
    const n = nodeOf(event.target);
    if (!n || event.altKey || event.ctrlKey || event.metaKey) return;
    const beside = n.up && n.level > zoomed.level ? n.up.children.filter(drawn) : [n];
    const inner = () => focus(n.level < zoomed.level ? nodes[tree.children[n.level + 1].dataset.node] : n.children[0]);
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

function cutNote(graph, words) {
  const time = graph.cutTime ? ` of ${duration(graph.cutTime)} in all` : '';
  return el('p', { class: 'muted' }, graph.cut ? `Not drawn: ${plural(graph.cut, 'call')}${time}. ` : '', words);
}
