// The earlier processes of the program that the black box reports: how each of them ended, and what was open then.
import { bdi, el, reconcile, setText } from './dom.js';
import { count, duration, iso, plural } from './format.js';
import { asker } from './ask.js';

/**
 * ofCrashes are the rows of processes that did not end well.
 * @param {Data.deathRow[]} all
 */
export const ofCrashes = (all) => all.filter((d) => d.kind !== 'ended');

/** @param {number} at milliseconds since the epoch */
const utc = (at) => `${iso(at).slice(0, 19).replace('T', ' ')} UTC`;

// deathNote is the line about the last crash above the overview.
export function deathNote() {
  const text = el('span');
  const node = el('p', { class: 'note bad health', id: 'died', hidden: true }, el('strong', {}, 'An earlier process died'), ': ', text, ' ', el('a', { href: '#/deaths' }, 'What was open'));
  return {
    node,
    /** @param {Data.deathRow[]} all */
    update(all) {
      const [last, ...older] = ofCrashes(all);
      node.hidden = !last;
      if (!last) return;
      const how = last.sentence ?? `${last.kind} (process ${last.pid})`;
      const more = older.length ? ` ${plural(older.length, 'other process', 'other processes')} died before.` : '';
      setText(text, `${how}; last sign of life ${utc(last.last)}; ${plural(last.open, 'open request')}.${more}`);
    },
  };
}

/**
 * deathsPage is the view of all reports.
 * @param {import('./main.js').Page} page
 */
export function deathsPage({ main }) {
  const none = el('p', { class: 'muted', id: 'no-deaths', hidden: true }, 'No report is here: no earlier process of this program has left a black box.');
  const alert = el('p', { class: 'note bad', role: 'alert', id: 'error', hidden: true });
  const list = el('div', { id: 'deaths' });
  main.append(
    el('h1', {}, 'Deaths'),
    el('p', { class: 'muted lead' }, 'Earlier processes of this program, from their black boxes. An open request ends at the last sign of life of its process.'),
    alert, none, list);
  const reports = asker((/** @type {Data.deathReports} */ d) => {
    alert.hidden = true;
    none.hidden = d.reports.length > 0;
    reconcile(list, d.reports, (r) => `${r.pid} ${r.started}`, makeReport, () => {});
  }, (error) => {
    alert.hidden = false;
    setText(alert, error.message);
  });
  const ask = () => reports.ask('data/v1/deaths');
  ask();
  return {
    update: (/** @type {string} */ kind) => { if (kind === 'deaths') ask(); },
    leave: reports.stop,
  };
}

/** @param {Data.deathReport} r */
function makeReport(r) {
  const id = `death-${r.pid}-${Math.round(r.started)}`;
  const title = (/** @type {string} */ text) => el('h3', {}, text);
  return el('section', { class: 'death', 'aria-labelledby': id },
    el('h2', { id }, bdi(r.sentence ?? r.kind)),
    el('p', { class: 'facts' },
      el('span', { class: r.kind === 'ended' ? 'badge' : 'badge bad' }, r.kind),
      el('span', {}, 'last sign of life ', el('time', { datetime: iso(r.last), title: iso(r.last) }, utc(r.last)), `, ${duration(r.last - r.started)} after the start`),
      el('span', {}, plural(r.open, 'open request'))),
    leftOut(r),
    r.words ? [title('What the Go runtime said'), el('pre', { class: 'words', role: 'group', tabindex: '0', 'aria-label': 'What the Go runtime said' }, bdi(r.words))] : null,
    r.routes.length ? [title('Open, by name'), routes(r)] : null,
    r.requests.length ? [title('Open requests'), requests(r)] : null);
}

/** @param {Data.deathReport} r */
function leftOut(r) {
  const parts = [
    r.open > r.requests.length && `${plural(r.open - r.requests.length, 'open request is', 'open requests are')} not in the list.`,
    r.leftOut && `${plural(r.leftOut, 'request')} had no room in the file since the start.`,
    r.finished && `${plural(r.finished, 'finished span')} waited for the backend.`,
    r.lost && `${plural(r.lost, 'finished span')} had no room in the file since the start.`,
  ].filter((text) => text);
  return parts.length ? el('p', { class: 'muted' }, parts.join(' ')) : null;
}

/** @param {string[]} names a name with a space before is of numbers */
const head = (...names) => el('thead', {}, el('tr', {}, names.map((name) => el('th', { scope: 'col', class: name.startsWith(' ') ? 'num' : '' }, name.trim()))));

/** @param {Data.deathReport} r */
function routes(r) {
  const named = r.routes.reduce((sum, route) => sum + route.count, 0);
  return el('table', { 'aria-label': 'Open requests by name' }, head('Name', ' Open', ' The oldest for'),
    el('tbody', {},
      r.routes.map((route) => el('tr', {},
        el('th', { scope: 'row', class: 'name' }, bdi(route.name)), el('td', { class: 'num' }, count(route.count)), el('td', { class: 'num' }, duration(route.oldest)))),
      named < r.open ? el('tr', {}, el('th', { scope: 'row', class: 'muted' }, 'other names'), el('td', { class: 'num' }, count(r.open - named)), el('td')) : null));
}

/** @param {Data.deathReport} r */
function requests(r) {
  return el('table', { class: 'open', 'aria-label': 'Open requests' }, head('Request', 'Was in', ' Open for'),
    el('tbody', {}, r.requests.map((q) => el('tr', { data: { trace: q.trace, span: q.span } },
      el('th', { scope: 'row', class: 'name' }, el('a', { href: `#/requests/${q.trace}/${q.span}`, title: q.name }, bdi(q.name)),
        q.crashed ? [' ', el('span', { class: 'badge bad' }, 'its goroutine crashed')] : null,
        q.leftOut ? [' ', el('span', { class: 'muted' }, `${plural(q.leftOut, 'older entry', 'older entries')} had no room`)] : null),
      el('td', {}, q.in ? [bdi(q.in), ` for ${duration(q.inFor ?? 0)}`] : ''),
      el('td', { class: 'num' }, duration(q.took))))));
}
