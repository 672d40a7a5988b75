// The Go runtime and perfline's own counts over the last minutes, as small charts on one axis of time.
import { el, setText } from './dom.js';
import { count, duration, plural, time } from './format.js';
import { chart } from './chart.js';

/**
 * @template {keyof Data.runtimeRow} K
 * @param {K} name
 */
const field = (name) => (/** @type {Data.runtimeRow} */ s) => s[name];
/**
 * @param {'gcPauses' | 'latencies'} name
 * @param {keyof Data.distribution} of
 */
const part = (name, of) => (/** @type {Data.runtimeRow} */ s) => s[name]?.[of];

/** @type {import('./chart.js').Chart[]} */
const charts = [
  { id: 'heap', title: 'Heap', unit: 'bytes', about: 'Memory of objects, and the heap size at which the next garbage collection ends.', series: [
    { name: 'in use', of: field('heap') }, { name: 'goal', of: field('heapGoal') }] },
  { id: 'memory', title: 'Memory from the system', unit: 'bytes', about: 'All memory that the Go runtime has, without the memory that it gave back.', series: [
    { name: 'memory', of: field('memory') }] },
  { id: 'allocated', title: 'Allocation', unit: 'bytes/s', about: 'The program allocates this much memory each second.', series: [
    { name: 'allocated', of: field('allocated') }] },
  { id: 'goroutines', title: 'Goroutines', unit: 'count', about: 'A number that only grows is a leak.', series: [
    { name: 'goroutines', of: field('goroutines') }] },
  { id: 'gc', title: 'Garbage collections', unit: 'count', about: 'The number of garbage collections that ended between two samples.', series: [
    { name: 'collections', of: field('gcCycles'), look: 'gc', bars: true }] },
  { id: 'pauses', title: 'GC pauses', unit: 'time', about: 'A garbage collection stops all goroutines for this long.', series: [
    { name: 'median', of: part('gcPauses', 'p50') }, { name: 'p99', of: part('gcPauses', 'p99') }, { name: 'longest', of: part('gcPauses', 'max'), look: 'gc' }] },
  { id: 'latency', title: 'Scheduler latency', unit: 'time', about: 'A goroutine that is ready waits this long for a processor.', series: [
    { name: 'median', of: part('latencies', 'p50') }, { name: 'p99', of: part('latencies', 'p99') }] },
  { id: 'cpu', title: 'CPU of the process', unit: 'cores', about: 'All threads of the process use this many cores; GOMAXPROCS is the limit for Go code.', series: [
    { name: 'used', of: field('cpu') }, { name: 'GOMAXPROCS', of: field('processors') }] },
  { id: 'classes', title: 'CPU by class', unit: 'cores', about: 'The work of the cores, averaged between two garbage collections: without a collection there is a gap.', series: [
    { name: 'program', of: field('cpuUser') }, { name: 'garbage collection', of: field('cpuGC'), look: 'gc' },
    { name: 'returning memory', of: field('cpuScavenge') }, { name: 'idle', of: field('cpuIdle') }] },
  { id: 'mutex', title: 'Waiting for mutexes', unit: 'goroutines', about: 'On average, this many goroutines wait for a mutex at the same time.', series: [
    { name: 'goroutines', of: field('mutexWait') }] },
  { id: 'recorded', title: 'Entries recorded', unit: '1/s', about: 'Perfline records this many marks, measures and requests each second.', series: [
    { name: 'entries', of: field('recorded') }] },
  { id: 'delivery', title: 'Delivery of spans', unit: '1/s', about: 'Spans given to the queue each second, and spans that the backend accepted.', series: [
    { name: 'queued', of: field('accepted') }, { name: 'delivered', of: field('delivered') }] },
  { id: 'pending', title: 'Spans in the queue', unit: 'count', about: 'A queue that stays full means a backend that is slow or away.', series: [
    { name: 'spans', of: field('pending') }] },
  { id: 'lost', title: 'Losses', unit: 'count', about: 'Perfline lost this many spans, marks and other entries between two samples: it should be none.', series: [
    { name: 'lost', of: field('lost'), look: 'bad', bars: true }] },
];

/**
 * runtimePage is the view of the runtime's figures.
 * @param {import('./main.js').Page} page
 */
export function runtimePage({ main, latest }) {
  const facts = el('p', { class: 'muted', id: 'runtime-facts' }, 'There are no samples yet.');
  const losses = el('p', { class: 'note bad', id: 'runtime-losses', hidden: true });
  const all = charts.map((c) => chart(c, (time) => all.forEach((other) => other.point(time))));
  main.append(
    el('h1', {}, 'Runtime'),
    el('p', { class: 'lead' }, 'The Go runtime and perfline itself in the last five minutes. Point at a chart, or use the arrow keys in it, to read the values at a time; Escape returns to the latest ones.'),
    facts, losses, el('div', { class: 'charts' }, all.map((c) => c.section)));

  function update() {
    const history = latest.runtime;
    if (!history?.samples.length) return;
    const { samples, every, maxSamples } = history;
    const last = samples[samples.length - 1];
    const axis = { from: last.at - (maxSamples - 1) * every, to: last.at };
    setText(facts, `${plural(samples.length, 'sample')}, one every ${duration(every)} while the program works, the last at ${time(last.at)}. At most ${count(maxSamples)} are in memory. ` +
      (latest.page ? `The page's handler started at ${time(latest.page.started)}.` : ''));
    const causes = lossesOf(samples);
    losses.hidden = causes.size === 0;
    setText(losses, `Lost in these minutes: ${[...causes].map(([words, n]) => `${count(n)} ${words}`).join('; ')}.`);
    for (const c of all) c.update(samples, axis);
  }
  update();
  return {
    update(/** @type {string} */ kind) {
      if (kind === 'runtime' || kind === 'page') update();
    },
  };
}

/**
 * lossesOf has the number of losses in samples, by their cause.
 * @param {Data.runtimeRow[]} samples
 */
export function lossesOf(samples) {
  /** @type {Map<string, number>} */
  const causes = new Map();
  for (const l of samples.flatMap((s) => s.losses || [])) {
    const words = `${l.kind ? `entries of type ${l.kind} ` : ''}${l.what}`;
    causes.set(words, (causes.get(words) || 0) + l.n);
  }
  return causes;
}
