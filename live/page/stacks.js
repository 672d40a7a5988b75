// The samples of a span as a flame chart: the stacks that were seen, by time. A sample is a tick: it has what ran at that
// moment, and not when a call began. Neighbours with the same calls are one box.
import { bdi, el, setText, targetOf } from './dom.js';
import { duration, plural } from './format.js';
import { withoutPath } from './functions.js';

const joins = 1.5; // intervals between samples whose boxes are one
const mostLanes = 6; // goroutines at the same time
const mostDrawn = 1200; // boxes
const narrowest = 1.5; // pixels

/**
 * @typedef {import('./axis.js').Axis} Axis
 * @typedef {{ at: number, weight: number, path: number[] }} Sample
 *
 * @typedef {object} Box calls of the same function in samples one after the other
 * @property {number} stack
 * @property {Box} [up]
 * @property {number} depth
 * @property {number} level
 * @property {number} start
 * @property {number} end
 * @property {number} samples
 * @property {number} weight
 */

/**
 * charter makes the charts of the spans that data has samples of. axis is the request's, whose width
 * lanes has.
 * @param {Data.sampleChart} data
 * @param {Axis} axis
 * @param {HTMLElement} lanes
 */
export function charter(data, axis, lanes) {
  /** @type {number[][]} */
  const paths = []; // of stacks, each the indices of stacks from the outermost
  data.stacks.forEach(([, parent], i) => paths.push(parent < 0 ? [i] : [...paths[parent], i]));
  const spans = new Map(data.spans.map((s) => [s.id, s.samples]));
  return (/** @type {Data.spanRow} */ span, /** @type {HTMLElement} */ about) => {
    const samples = spans.get(span.id);
    if (!samples) return el('span', { class: 'muted' }, 'The samples of this span are left out.');
    return chart(span, samples.map(([at, weight, stack]) => ({ at, weight, path: stack < 0 ? [] : paths[stack] })), data, axis, lanes, about);
  };
}

/**
 * laid puts samples that are at the same time into lanes, and joins the boxes of neighbours. left is
 * the number of samples without a lane.
 * @param {Sample[]} samples
 * @param {number} interval
 * @param {number} from
 * @param {number} to
 * @param {number} outer the number of calls that are left out
 */
export function laid(samples, interval, from, to, outer) {
  /** @type {Sample[][]} */
  const all = [];
  let left = 0;
  for (const s of samples) {
    const last = (/** @type {Sample[]} */ l) => l[l.length - 1];
    const free = all.filter((l) => s.at - last(l).at > interval / 2);
    const common = (/** @type {Sample[]} */ l) => last(l).path.findIndex((id, i) => id !== s.path[i]) >>> 0; // none is the largest
    const best = free.reduce((/** @type {Sample[] | null} */ a, b) => (a && common(a) >= common(b) ? a : b), null);
    if (best) best.push(s);
    else if (all.length < mostLanes) all.push([s]);
    else left++;
  }
  /** @type {Box[]} */
  const boxes = [];
  let level = 0;
  for (const lane of all) {
    /** @type {Box[]} */
    let open = []; // the box at each depth
    let deepest = 0;
    lane.forEach((s, i) => {
      const before = lane[i - 1];
      const near = before && s.at - before.at <= joins * interval;
      const start = Math.max(from, near ? (before.at + s.at) / 2 : s.at - interval / 2);
      const next = lane[i + 1];
      const end = Math.min(to, next && next.at - s.at <= joins * interval ? (s.at + next.at) / 2 : s.at + interval / 2);
      if (!near) open = [];
      const path = s.path.slice(outer);
      deepest = Math.max(deepest, path.length);
      path.forEach((stack, depth) => {
        let box = open[depth];
        if (!box || box.stack !== stack) {
          open.length = depth;
          box = { stack, up: open[depth - 1], depth, level: level + depth, start, end: start, samples: 0, weight: 0 };
          open.push(box);
          boxes.push(box);
        }
        box.end = Math.max(end, box.start);
        box.samples++;
        box.weight += s.weight;
      });
      open.length = path.length;
    });
    level += deepest;
  }
  return { boxes, levels: level, left };
}

/**
 * outermost is the number of calls that all samples have in common, before the first of the program's
 * own code.
 * @param {Sample[]} samples
 * @param {(stack: number) => boolean} own
 */
export function outermost(samples, own) {
  const some = samples.filter((s) => s.path.length);
  if (!some.length) return 0;
  let n = some[0].path.length - 1;
  for (const { path } of some) {
    let i = 0;
    while (i < n && path[i] === some[0].path[i] && !own(path[i])) i++;
    n = i;
  }
  return n;
}

/**
 * @param {Data.spanRow} span
 * @param {Sample[]} samples
 * @param {Data.sampleChart} data
 * @param {Axis} axis
 * @param {HTMLElement} lanes
 * @param {HTMLElement} about
 */
function chart(span, samples, data, axis, lanes, about) {
  const outer = outermost(samples, (stack) => data.frames[data.stacks[stack][0]].kind === 'own');
  const { boxes, levels, left } = laid(samples, data.interval, span.start, span.start + span.took, outer);
  const frame = (/** @type {Box} */ box) => data.frames[data.stacks[box.stack][0]];
  /** @type {Map<Box, HTMLElement>} */
  const nodes = new Map(); // of the boxes that are drawn
  let current = boxes[0];
  const tree = el('div', { class: 'stacks', role: 'tree', 'aria-label': `Stacks of ${span.name} by time`, vars: { levels: Math.max(1, levels) } });
  const said = el('span', { class: 'said' });
  const noted = el('span', { class: 'muted' });
  about.replaceChildren(said, noted);
  const words = (/** @type {Box} */ box) => `${plural(box.samples, 'sample')}, ${duration(box.weight)}, from ${duration(box.start)} to ${duration(box.end)}`;

  /** @param {Box | undefined} box */
  function describe(box) {
    if (box) said.replaceChildren(el('strong', {}, bdi(frame(box).name)), ` ${words(box)}`);
  }

  /** @param {Box} box */
  function make(box) {
    const { name, kind } = frame(box);
    const node = el('div', {
      role: 'treeitem', 'aria-level': box.depth + 1, tabindex: box === current ? 0 : -1, class: kind || 'none', title: `${name}\n${words(box)}`,
      'aria-label': `${name}, ${words(box)}`, vars: { at: box.start / axis.total, width: (box.end - box.start) / axis.total, level: box.level }, data: { name },
    }, el('span', { 'aria-hidden': 'true' }, bdi(withoutPath(name))));
    nodes.set(box, node);
    return node;
  }

  function draw() {
    const scale = (lanes.clientWidth || 600) / axis.length;
    const seen = boxes.filter((b) => b.end > axis.from && b.start < axis.to);
    const wide = seen.filter((b) => (b.end - b.start) * scale >= narrowest).sort((a, b) => (b.end - b.start) - (a.end - a.start)).slice(0, mostDrawn);
    wide.sort((a, b) => a.start - b.start || a.depth - b.depth);
    if (!wide.includes(current) && wide.length) current = wide[0];
    const focused = tree.contains(document.activeElement);
    const wanted = new Set(wide);
    for (const [box, node] of nodes) {
      if (wanted.has(box)) continue;
      node.remove();
      nodes.delete(box);
    }
    /** @type {HTMLElement | null} */
    let last = null;
    for (const box of wide) {
      const node = nodes.get(box) || make(box);
      node.tabIndex = box === current ? 0 : -1;
      if (node.parentNode !== tree || node.previousSibling !== last) tree.insertBefore(node, last ? last.nextSibling : tree.firstChild);
      last = node;
    }
    if (focused && !tree.contains(document.activeElement)) nodes.get(current)?.focus({ preventScroll: true });
    setText(noted, [`${plural(samples.length, 'sample')}, each a tick of ${duration(data.interval)} and no call.`,
      left && `${plural(left, 'sample')} not drawn: more than ${mostLanes} goroutines at a time.`,
      outer && `${plural(outer, 'outer call')} not drawn.`,
      seen.length > wide.length && `${plural(seen.length - wide.length, 'box', 'boxes')} too narrow: zoom in.`].filter(Boolean).join(' '));
  }

  let waits = false;
  axis.listen(() => {
    if (waits || !tree.isConnected) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      draw();
    });
  });

  const boxOf = (/** @type {Node} */ target) => [...nodes].find(([, node]) => node.contains(target))?.[0];

  /** @param {Box | undefined} box */
  function focus(box) {
    const node = box && nodes.get(box);
    if (!node) return;
    nodes.get(current)?.setAttribute('tabindex', '-1');
    current = box;
    node.setAttribute('tabindex', '0');
    node.focus();
  }

  /** @param {Box} box */
  function zoom(box) {
    const margin = (box.end - box.start) / 20;
    axis.set(box.start - margin, box.end + margin);
  }

  tree.addEventListener('pointerover', (event) => describe(boxOf(targetOf(event))));
  tree.addEventListener('focusin', (event) => {
    current = boxOf(targetOf(event)) || current;
    describe(current);
  });
  tree.addEventListener('dblclick', (event) => {
    const box = boxOf(targetOf(event));
    if (box) zoom(box);
  });
  tree.addEventListener('keydown', (event) => {
    const box = boxOf(targetOf(event));
    if (!box || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const drawn = [...nodes.keys()].sort((a, b) => a.start - b.start);
    const beside = drawn.filter((b) => b.level === box.level);
    const act = {
      ArrowUp: () => focus(box.up),
      ArrowDown: () => focus(drawn.find((b) => b.up === box)),
      ArrowRight: () => focus(beside[beside.indexOf(box) + 1]),
      ArrowLeft: () => focus(beside[beside.indexOf(box) - 1]),
      Home: () => focus(drawn[0]),
      Enter: () => zoom(box),
      ' ': () => zoom(box),
      Escape: () => axis.reset(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  draw();
  describe(current);
  return tree;
}
