// A flame graph, the whole at the top. It is a tree to assistive technology: arrow keys go
// through it, Enter zooms in, Escape zooms out.
import { bdi, el, off, setText } from './dom.js';
import { duration, percent, plural, withoutPath } from './format.js';

const narrowest = 1 / 1500; // of the width; what is narrower is not drawn

/** flame shows what data/v1/flame answered. */
export function flame(graph) {
  const nodes = graph.nodes.map((n, index) => ({ ...n, index, children: [], level: 0, at: 0 }));
  for (const n of nodes.slice(1)) {
    n.up = nodes[n.parent];
    n.level = n.up.level + 1;
    n.at = n.up.children.reduce((sum, c) => sum + c.total, n.up.at);
    n.up.children.push(n);
  }
  const all = nodes[0];
  let zoomed = all;
  let current = all;
  let words = '';

  const tree = el('div', { class: 'flame', role: 'tree', 'aria-label': `Flame graph of ${graph.title}`, id: 'flame' });
  const about = el('p', { class: 'about', id: 'flame-about' });
  const found = el('output', { class: 'muted', id: 'flame-found', for: 'flame-search' });
  const reset = el('button', { type: 'button', id: 'flame-reset', disabled: true, onclick: () => zoom(all) }, 'Reset zoom');
  const search = el('input', { type: 'search', id: 'flame-search', autocomplete: 'off', spellcheck: 'false', oninput: find });

  const matches = (n) => words !== '' && n.name.toLowerCase().includes(words);

  function describe(n) {
    about.replaceChildren(
      el('strong', {}, bdi(n.name)), ` ${percent(n.total, all.total)} of all, ${duration(n.total)}`,
      n.self > 0 && n.self < n.total ? `, ${duration(n.self)} of it in itself` : '');
  }

  // The ancestors of what is zoomed are as wide as it; what is beside it is not drawn.
  function place(n) {
    if (n.level <= zoomed.level) return { at: 0, width: 1 };
    return { at: (n.at - zoomed.at) / zoomed.total, width: n.total / zoomed.total };
  }

  function draw() {
    const list = [];
    for (let n = zoomed; n; n = n.up) list.unshift(n);
    let level = zoomed.level;
    const below = (n) => n.children.forEach((c) => {
      if (c.total / zoomed.total < narrowest) return;
      list.push(c);
      level = Math.max(level, c.level);
      below(c);
    });
    below(zoomed);
    if (!list.includes(current)) current = zoomed;
    tree.style.setProperty('--levels', level + 1);
    tree.replaceChildren(...list.map(makeNode));
    off(reset, 'disabled', zoomed === all, tree.querySelector('[tabindex="0"]'));
  }

  function makeNode(n) {
    const { at, width } = place(n);
    return el('div', {
      role: 'treeitem', 'aria-level': n.level + 1, tabindex: n === current ? 0 : -1,
      'aria-label': `${n.name}, ${percent(n.total, all.total)}, ${duration(n.total)}`,
      class: `${n.kind || 'none'} ${matches(n) ? 'found' : ''} ${n.level < zoomed.level ? 'above' : ''}`,
      data: { node: n.index, name: n.name }, vars: { at, width, level: n.level },
    }, el('span', { 'aria-hidden': 'true' }, bdi(withoutPath(n.name))));
  }

  const nodeOf = (target) => nodes[target.closest?.('[data-node]')?.dataset.node];

  function focus(n) {
    if (!n) return;
    tree.querySelector('[tabindex="0"]')?.setAttribute('tabindex', '-1');
    current = n;
    const node = tree.querySelector(`[data-node="${n.index}"]`);
    node?.setAttribute('tabindex', '0');
    node?.focus({ preventScroll: false });
  }

  function zoom(n) {
    const had = tree.contains(document.activeElement);
    zoomed = n;
    draw();
    if (had) focus(n === all ? current : n);
    describe(n);
  }

  function find() {
    words = search.value.toLowerCase().trim();
    let hits = 0;
    let time = 0;
    const walk = (n, counted) => {
      const hit = matches(n);
      if (hit) hits++;
      if (hit && !counted) time += n.total;
      n.children.forEach((c) => walk(c, counted || hit));
    };
    walk(all, false);
    for (const node of tree.children) node.classList.toggle('found', matches(nodes[node.dataset.node]));
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
  tree.addEventListener('focusin', (event) => {
    const n = nodeOf(event.target);
    if (!n) return;
    current = n;
    describe(n);
  });
  tree.addEventListener('keydown', (event) => {
    const n = nodeOf(event.target);
    if (!n || event.altKey || event.ctrlKey || event.metaKey) return;
    const beside = n.up && n.level > zoomed.level ? n.up.children.filter((c) => tree.querySelector(`[data-node="${c.index}"]`)) : [n];
    const act = {
      ArrowDown: () => focus(n.level < zoomed.level ? nodes[tree.children[n.level + 1].dataset.node] : n.children[0]),
      ArrowUp: () => focus(n.up),
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

  const root = el('div', { class: 'flames' },
    el('div', { class: 'filter' },
      el('label', { for: 'flame-search' }, 'Search functions'), search, reset, found, legend()),
    about, tree,
    el('p', { class: 'muted' }, `${plural(graph.samples, 'sample')}, ${graph.engine} every ${duration(graph.interval)}.`,
      graph.cut ? ` Not drawn: ${plural(graph.cut, 'call')} of ${duration(graph.cutTime)} in all.` : '',
      graph.filtered ? ' [no stack] is code of modules that sessions from outside may not see: Policy.Modules says which.' : '',
      ' Click or Enter zooms, Escape resets, arrow keys move.'));
  if (graph.samples === 0) return el('p', { class: 'muted', id: 'flame-empty' }, 'There are no samples of this.');
  draw();
  describe(all);
  return root;
}

function legend() {
  const kinds = [['own', 'this program'], ['dep', 'modules'], ['std', 'standard library'], ['runtime', 'runtime']];
  return el('ul', { class: 'legend', 'aria-label': 'Colours' }, kinds.map(([kind, text]) => el('li', {}, el('span', { class: `swatch ${kind}` }), text)));
}
