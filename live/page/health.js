// Whether the process is well, in a sentence with numbers. What is wrong comes first.
import { el, element, focusIn, setText } from './dom.js';
import { duration } from './format.js';

const minute = 60_000;
const long = 10; // milliseconds of a pause, which is part of the duration of requests

/**
 * concerns are what is wrong with the runtime in the last minute.
 * @param {Data.runtimeRow[]} samples
 */
export function concerns(samples) {
  /** @type {Data.concern[]} */
  const all = [];
  const recent = samples.filter((s) => s.at > samples[samples.length - 1].at - minute);
  const most = (/** @type {(s: Data.runtimeRow) => number | undefined} */ value) => Math.max(0, ...recent.map((s) => value(s) ?? 0));
  const latency = most((s) => s.latencies?.p99);
  const pause = most((s) => s.gcPauses?.max);
  const href = '#/runtime';
  if (latency >= long) all.push({ title: 'Processors are busy', text: `1 in 100 goroutines waited ${duration(latency)} or longer for a processor in the last minute`, href });
  if (pause >= long) all.push({ title: 'Long GC pauses', text: `a garbage collection stopped the program for ${duration(pause)} in the last minute`, href });
  return all;
}

export function healthLine() {
  const node = el('p', { class: 'note health', id: 'health', hidden: true });
  const said = el('p', { class: 'sr', role: 'status', id: 'health-said' }); // a change of what is wrong, not of each number
  let before = '';
  return {
    nodes: [node, said],
    /**
     * update shows the server's words, and what the samples of the runtime say.
     * @param {Data.health} h
     * @param {Data.runtimeRow[]} samples
     */
    update(h, samples) {
      const all = [...h.concerns, ...concerns(samples)];
      node.hidden = false;
      node.classList.toggle('bad', all.length > 0);
      const now = JSON.stringify([all, h.sentence]);
      if (before === now) return;
      before = now;
      const focused = focusIn(node)?.getAttribute('href');
      node.replaceChildren(...all.flatMap((c) => [
        c.href ? el('a', { href: c.href }, el('strong', {}, c.title)) : el('strong', {}, c.title), `: ${c.text}. `,
      ]), h.sentence);
      if (focused) (element(node, `a[href="${CSS.escape(focused)}"]`) || element(document, '#main')).focus();
      setText(said, all.map((c) => c.title).join(', '));
    },
  };
}
