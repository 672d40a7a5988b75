// Leaked goroutines: how many, and where they wait, when somebody asks.
import { bdi, el, setText } from './dom.js';
import { clock, count, duration, plural } from './format.js';
import { get } from './get.js';
import { act } from './control.js';

/**
 * leakSection looks for leaked goroutines on a click, and lists their stacks.
 * @param {HTMLElement} alert
 */
export function leakSection(alert) {
  const found = el('p', { role: 'status', id: 'leaks-found' });
  const stacks = el('div', { id: 'leak-stacks' });
  const look = el('button', { type: 'button', id: 'look-for-leaks', onclick: () => act(look, alert, async () => show(await get('data/v1/leaks', { method: 'POST' }))) },
    'Look for leaked goroutines');

  /** @param {Data.leakReport} report */
  function show(report) {
    const more = report.cut ? ` Not listed: ${plural(report.cut, 'stack')} with fewer goroutines.` : '';
    const words = report.goroutines ? `${plural(report.goroutines, 'goroutine')} leaked` : 'No goroutine leaked';
    setText(found, `${words}, at ${clock(report.at)}. The look took ${duration(report.took)}.${more}`);
    stacks.replaceChildren(...report.stacks.map((s) => el('details', { open: report.stacks.length === 1 },
      el('summary', {}, `${count(s.goroutines)} in `, bdi(name(s.frames)), s.span ? el('span', { class: 'muted' }, ' of ', bdi(s.span)) : null),
      el('ol', { class: 'stack' }, s.frames.map((f) => el('li', {}, el('code', {}, bdi(f))))))));
  }

  return el('section', { 'aria-labelledby': 'leaks-title', id: 'leaks', hidden: true },
    el('h2', { id: 'leaks-title' }, 'Leaked goroutines'),
    el('p', { class: 'muted' }, 'A leaked goroutine waits for a channel or a lock that no running code can reach. The look is a garbage collection that stops the program several times. ',
      el('strong', {}, 'It can end a program that uses package weak: '), 'the Go runtime stops with a fatal error if a goroutine that it found leaked is woken later.'),
    el('p', { class: 'acts' }, look), found, stacks);
}

/**
 * name is the innermost function that is not the runtime's.
 * @param {string[]} frames
 */
export function name(frames) {
  const functions = frames.map((f) => f.split(' ')[0]);
  return functions.find((f) => !f.startsWith('runtime.') && !f.startsWith('sync.')) || functions[0] || 'code that is not shown';
}
