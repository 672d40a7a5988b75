// The waits recorder: whether it is armed, what that costs, and the buttons.
import { bdi, el, off, setText } from './dom.js';
import { clock, count, duration } from './format.js';
import { send } from './get.js';
import { act } from './control.js';
import { howToAllow } from './sessions.js';

// docs/lab/waits.md has the measurement.
const cost = 'While it is armed, a request takes 4 to 20 % more CPU time. Disarmed, it costs nothing.';

/** @type {Record<string, string>} */
const words = {
  armed: 'armed', disarmed: 'not armed', paused: 'not armed, and paused', 'in use': 'not armed: another flight recorder runs in this process',
  forbidden: 'not armed: the environment forbids it', none: 'This program has no waits recorder.',
};

/** @param {import('./main.js').Page} page */
export function waitsPage({ main, latest }) {
  const alert = el('p', { class: 'note bad', role: 'alert', id: 'error', hidden: true });
  const refused = el('p', { class: 'note', id: 'refused', hidden: true });
  const said = el('span', { class: 'state', id: 'waits-state', role: 'status' });
  const state = el('p', { class: 'facts' }, said);
  const more = el('p', { id: 'waits-more' });
  const facts = el('p', { class: 'muted', id: 'waits-facts' });
  const button = (/** @type {string} */ id, /** @type {string} */ text, /** @type {string} */ path, /** @type {object} */ argument) => {
    const node = el('button', { type: 'button', id, class: id === 'arm' ? 'primary' : '', onclick: () => act(node, alert, async () => show(await send(path, argument))) }, text);
    return node;
  };
  const arm = button('arm', 'Arm for a minute', 'waits/arm', { length: 60_000 });
  const armLong = button('arm-long', 'Arm until disarmed', 'waits/arm', { length: 0 });
  const disarm = button('disarm', 'Disarm', 'waits/disarm', {});
  const acts = el('p', { class: 'acts', hidden: true }, arm, armLong, disarm);
  const how = el('div', { id: 'waits-how', class: 'note', hidden: true },
    el('p', {}, 'Who writes the program adds one to its configuration:'),
    el('pre', {}, el('code', {}, 'perfline.Start(ctx, perfline.Config{\n\tWaits: flight.NewRecorder(flight.Config{Auto: true}), // github.com/perfline/perfline/waits/flight\n})')));
  main.append(
    el('h1', { tabindex: '-1' }, 'Waits'),
    el('p', { class: 'muted lead' }, 'The waits recorder finds out what the goroutines of a slow ',
      'request waited for, and who made them wait. Open a slow request to see its waits.'),
    el('p', { class: 'lead', id: 'waits-cost' }, cost),
    refused, alert, state, more, acts, how, facts);

  /** @param {Data.waitsState} f */
  function show(f) {
    setText(said, words[f.status] || f.status);
    said.dataset.state = f.status === 'armed' ? 'recording' : f.status;
    /** @type {string[]} */
    const lines = [];
    if (f.status === 'armed') lines.push(f.until ? `Until ${clock(f.until)}.` : 'Until it is disarmed.');
    if (f.status === 'armed' && f.auto) lines.push('A slow request armed it.');
    if (f.status === 'disarmed' && f.auto) lines.push('The next slow request arms it for a minute.');
    if (f.status === 'paused' && f.until) lines.push(`Slow requests may arm it again after ${clock(f.until)}.`);
    if (f.status === 'in use') lines.push('Only one flight recorder can run in a process. Stop the other one, then arm this one.');
    more.replaceChildren(lines.join(' '), f.reason ? bdi(` ${f.reason}.`) : '');
    const none = f.status === 'none';
    how.hidden = !none;
    refused.hidden = !f.refused;
    if (f.refused) howToAllow(refused, f.refused, 'Arming the waits recorder is not allowed from here. ');
    acts.hidden = none || Boolean(f.refused) || f.status === 'forbidden';
    off(disarm, 'disabled', f.status !== 'armed', arm);
    setText(facts, none ? '' : `Results in memory: ${count(f.results)}. Slow requests that wait for their analysis: ${count(f.pending)}.${f.armed && f.status !== 'armed' ? ` The recorder was armed for ${duration(f.armed)} in all.` : ''}`);
  }

  /** @param {string} kind */
  function update(kind) {
    if (kind === 'waits' && latest.waits) show(latest.waits);
  }
  update('waits');
  return { update };
}
