// The timelines of a session, each of which opens to its events.
import { bdi, el, off, targetOf } from './dom.js';
import { count, duration, shown } from './format.js';
import { call } from './get.js';
import { act } from './control.js';
import { events } from './events.js';
import { summary } from './summary.js';

/**
 * timelines shows those of a session that GetSession answered, and asks for more of them; what
 * goes wrong, the alert says.
 * @param {number} id
 * @param {Rpc.Session} session
 * @param {HTMLElement} alert
 */
export function timelines(id, session, alert) {
  const body = el('tbody');
  const more = el('button', { type: 'button', id: 'more-timelines', onclick: () => act(more, alert, ask) }, 'More timelines');
  let last = 0;

  /** @param {Rpc.Session} part */
  function add(part) {
    const list = part.timelineList || [];
    const rows = list.flatMap((t) => row(id, t, alert));
    last = list.at(-1)?.timelineID || last;
    body.append(...rows);
    off(more, 'hidden', !part.more, rows[0]?.querySelector('button'));
  }

  const ask = async () => add(await call('GetSession', { sessionID: id, afterTimelineID: last }));

  add(session);
  return el('section', { 'aria-labelledby': 'timelines-title', id: 'timelines' },
    el('h2', { id: 'timelines-title' }, 'Timelines'),
    el('table', { class: 'timelines' },
      el('thead', {}, el('tr', {},
        el('th', { scope: 'col' }, 'Timeline'), el('th', { scope: 'col', class: 'num' }, 'Began'), el('th', { scope: 'col', class: 'num' }, 'Took'),
        el('th', { scope: 'col', class: 'num wide' }, 'Events'), el('th', { scope: 'col', class: 'num wide' }, 'Samples'), el('td', { class: 'wide' }))),
      body), more);
}

/**
 * @param {number} id
 * @param {Rpc.Timeline} t
 * @param {HTMLElement} alert
 */
function row(id, t, alert) {
  const start = t.interval?.start || 0;
  const took = (t.interval?.end || 0) - start;
  const name = shown(t.title);
  const inside = el('td', { colspan: 6 });
  const below = el('tr', { class: 'inside', hidden: true }, inside);
  const twist = el('button', { type: 'button', class: 'twist', 'aria-expanded': 'false', 'aria-label': `Events of ${name}, timeline ${t.timelineID}`, onclick: toggle });

  function toggle() {
    const open = below.hidden;
    below.hidden = !open;
    twist.setAttribute('aria-expanded', String(open));
    if (open && !inside.firstChild) inside.append(el('p', { class: 'acts narrow' }, links()), opened(id, t, { start, took }, alert));
  }

  const links = () => [
    t.sampleCount ? el('a', { href: `#/profile?${new URLSearchParams({ session: String(id), timeline: String(t.timelineID) })}` }, 'profile', el('span', { class: 'sr' }, ` of ${name}, timeline ${t.timelineID}`)) : '',
    t.traceID && !t.lane ? el('a', { href: `#/requests/${t.traceID}/${t.spanID}` }, 'request', el('span', { class: 'sr' }, ` ${name}, timeline ${t.timelineID}`)) : '',
  ].filter(Boolean);
  return [
    el('tr', { data: { timeline: t.timelineID } },
      el('th', { scope: 'row', class: 'name' }, twist, bdi(name, { title: name })),
      el('td', { class: 'num' }, duration(start)), el('td', { class: 'num' }, duration(took)),
      el('td', { class: 'num wide' }, count(t.eventCount)), el('td', { class: 'num wide' }, count(t.sampleCount)),
      el('td', { class: 'acts wide' }, links())),
    below,
  ];
}

/**
 * opened has the events as a tree, and summed up by type and name.
 * @param {number} id
 * @param {Rpc.Timeline} t
 * @param {{ start: number, took: number }} span
 * @param {HTMLElement} alert
 */
function opened(id, t, span, alert) {
  const panel = el('div');
  const button = (/** @type {string} */ text, /** @type {boolean} */ pressed, /** @type {() => HTMLElement} */ make) => el('button', { type: 'button', 'aria-pressed': String(pressed), onclick: (/** @type {MouseEvent} */ event) => {
    for (const b of targetOf(event).parentElement?.children ?? []) b.setAttribute('aria-pressed', String(b === event.target));
    panel.replaceChildren(make());
  } }, text);
  const timeline = t.timelineID ?? 0;
  const tree = () => events(id, timeline, span, alert);
  panel.append(tree());
  return el('div', {}, el('div', { class: 'acts', role: 'group', 'aria-label': 'Show events' },
    button('as a tree', true, tree), button('summed up', false, () => summary(id, timeline, alert))), panel);
}
