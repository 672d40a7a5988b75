// The events of a timeline as a tree, of which each level is asked for when it is opened.
import { arrows, bdi, el } from './dom.js';
import { count, duration, shown } from './format.js';
import { call } from './get.js';
import { act, complain } from './control.js';
import { within } from './axis.js';

const page = 200; // events asked for at a time

/**
 * typeName is "request" of "EVENT_TYPE_REQUEST".
 * @param {string | undefined} type
 */
export const typeName = (type) => (type || '').replace('EVENT_TYPE_', '').toLowerCase();

/**
 * events shows a timeline that began and took what span says; what goes wrong, the alert says.
 * @param {number} session
 * @param {number} timeline
 * @param {{ start: number, took: number }} span
 * @param {HTMLElement} alert
 */
export function events(session, timeline, span, alert) {
  const body = el('tbody');
  arrows(body, '.twist, .more, th[tabindex]');
  const first = waitRow(0);
  body.append(first);
  begin(first, 0, 0);
  return el('table', { class: 'events' },
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Event'), el('th', { scope: 'col', class: 'num' }, 'Total'), el('th', { scope: 'col', class: 'num wide' }, 'Itself'),
      el('th', { scope: 'col', class: 'num wide' }, 'Began'), el('th', { scope: 'col', class: 'lane' }, 'When'))),
    body);

  /**
   * fill puts a page of what is below an event (0: the timeline) in a row's place.
   * @param {HTMLElement} place
   * @param {number} parent
   * @param {number} depth
   * @param {number} after
   */
  async function fill(place, parent, depth, after) {
    const answer = await call('GetEvents', {
      sessionID: session, timelineID: timeline, maxDepth: 1, limit: page,
      ...(parent && { eventID: parent }), ...(after && { afterEventID: after }),
    });
    const list = answer.eventList || [];
    const rows = list.map((e) => row(e, depth));
    if (answer.more) rows.push(moreRow(parent, depth, list.at(-1)?.eventID ?? 0, `The next ${page}`));
    if (!rows.length && !parent) rows.push(el('tr', {}, el('td', { colspan: 5, class: 'muted' }, 'No events.')));
    const had = place.contains(document.activeElement);
    place.replaceWith(...rows);
    if (had && rows.length) /** @type {HTMLElement | null} */ (rows[0].querySelector('button, [tabindex]'))?.focus();
  }

  /**
   * @param {HTMLElement} place
   * @param {number} parent
   * @param {number} depth
   */
  function begin(place, parent, depth) {
    fill(place, parent, depth, 0).catch((error) => {
      complain(alert, error);
      place.replaceWith(moreRow(parent, depth, 0, 'Try again'));
    });
  }

  /** @param {number} depth */
  function waitRow(depth) {
    return el('tr', { data: { depth } }, el('td', { colspan: 5, class: 'muted' }, 'Loading…'));
  }

  /**
   * @param {number} parent
   * @param {number} depth
   * @param {number} last
   * @param {string} text
   */
  function moreRow(parent, depth, last, text) {
    const button = el('button', { type: 'button', class: 'more', onclick: () => act(button, alert, () => fill(node, parent, depth, last)) }, text);
    const node = el('tr', { data: { depth } }, el('th', { scope: 'row', colspan: 5, class: 'name', vars: { depth } }, button));
    return node;
  }

  /**
   * @param {Rpc.Event} e
   * @param {number} depth
   */
  function row(e, depth) {
    const name = shown(e.name || typeName(e.type));
    const start = e.interval?.start || 0;
    const took = (e.interval?.end || 0) - start;
    const of = Math.max(span.took, 1e-6);
    const twist = e.childCount ? el('button', { type: 'button', class: 'twist', 'aria-expanded': 'false', 'aria-label': `${count(e.childCount)} below ${name}`, onclick: toggle }) : el('span', { class: 'sign', 'aria-hidden': 'true' });
    const detail = (e.detail || []).map((d) => `${d.key}=${d.stringValue ?? d.intValue ?? d.doubleValue ?? d.boolValue ?? ''}`).join(' ');
    const node = el('tr', { data: { event: e.eventID, type: typeName(e.type), depth } },
      el('th', { scope: 'row', class: 'name', tabindex: e.childCount ? null : '-1', vars: { depth: Math.min(depth, 12) } },
        el('span', { class: 'indent' }, twist, el('span', { class: `kind ${typeName(e.type)}` }, typeName(e.type)), ' ', bdi(name, { title: name }),
          detail && el('bdi', { class: 'beside muted', title: shown(detail, 1000) }, shown(detail, 120)))),
      el('td', { class: 'num' }, duration(e.aggregatedTime || 0)),
      el('td', { class: 'num wide' }, duration(e.time || 0)),
      el('td', { class: 'num wide' }, duration(start)),
      el('td', { class: 'lane' }, el('span', { class: 'track', 'aria-hidden': 'true' },
        el('span', { class: took ? 'bar' : 'diamond', vars: { at: within((start - span.start) / of), width: within(took / of) } }))));

    function toggle() {
      const open = twist.getAttribute('aria-expanded') === 'false';
      twist.setAttribute('aria-expanded', String(open));
      if (open) {
        const wait = waitRow(depth + 1);
        node.after(wait);
        begin(wait, e.eventID ?? 0, depth + 1);
        return;
      }
      const next = () => /** @type {HTMLElement | null} */ (node.nextElementSibling);
      for (let below = next(); below && Number(below.dataset.depth ?? -1) > depth; below = next()) below.remove();
    }
    return node;
  }
}
