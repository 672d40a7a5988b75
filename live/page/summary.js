// The events of a timeline summed up by type and name (Scope Profiler, REDUCE_UNIQUE_EVENTS).
import { bdi, el } from './dom.js';
import { count, duration, percent, shown } from './format.js';
import { call } from './get.js';
import { complain } from './control.js';
import { typeName } from './events.js';

const most = 10_000; // kinds of events that an answer may have

/**
 * summary shows the events of a timeline by type and name.
 * @param {number} session
 * @param {number} timeline
 * @param {HTMLElement} alert
 */
export function summary(session, timeline, alert) {
  const body = el('tbody', {}, el('tr', {}, el('td', { colspan: 5, class: 'muted' }, 'Loading…')));
  call('GetEvents', { sessionID: session, timelineID: timeline, mode: 'MODE_REDUCE_UNIQUE_EVENTS', limit: most }).then((answer) => {
    const list = answer.eventList || [];
    const all = list.reduce((sum, e) => sum + (e.time || 0), 0);
    body.replaceChildren(...list.map((e) => el('tr', {},
      el('th', { scope: 'row', class: 'name' }, el('span', { class: `kind ${typeName(e.type)}` }, typeName(e.type)), ' ', bdi(shown(e.name || ''), { title: shown(e.name || '') })),
      el('td', { class: 'num' }, count(e.hits)),
      el('td', { class: 'num' }, duration(e.time || 0)),
      el('td', { class: 'num' }, percent(e.time || 0, all)),
      el('td', { class: 'num wide' }, duration(e.overhead || 0)))));
    if (answer.more) body.append(el('tr', {}, el('td', { colspan: 5, class: 'lost' }, `There are more than these ${count(list.length)}; shares are of their time.`)));
  }).catch((error) => {
    complain(alert, error);
    body.replaceChildren(el('tr', {}, el('td', { colspan: 5, class: 'muted' }, 'Not loaded.')));
  });
  return el('table', { class: 'summary' },
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Events'), ['Hits', 'Time in itself', 'Share'].map((h) => el('th', { scope: 'col', class: 'num' }, h)), el('th', { scope: 'col', class: 'num wide' }, 'Overhead'))),
    body);
}
