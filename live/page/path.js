// The critical path of a request: the spans that determined how long it took.
import { bdi, el } from './dom.js';
import { duration, percent } from './format.js';

const most = 3; // names in the sentence

/**
 * pathSentence has the names with the largest shares of the critical path. A click chooses the row of one.
 * @param {Data.requestDetail} request
 * @param {(key: string) => void} onSelect
 */
export function pathSentence(request, onSelect) {
  if (request.shares.length < 2) return null;
  const all = request.shares.slice(0, most);
  return el('p', { class: 'shares', id: 'critical-path' }, 'Critical path: ', all.flatMap((share, i) => [
    i > 0 && ', ',
    el('button', { type: 'button', class: 'link', title: `${duration(share.took)} of the critical path`, onclick: () => onSelect(share.row) }, bdi(share.name)),
    `${share.spans > 1 ? ` × ${share.spans}` : ''} ${percent(share.took, request.took)}`,
  ]), '.');
}

/**
 * shareOf is what spans have of the critical path: a text, or an empty one if they have none.
 * @param {Data.requestDetail} request
 * @param {Data.spanRow[]} spans
 */
export function shareOf(request, spans) {
  const ids = new Set(spans.map((s) => s.id));
  const took = request.path.reduce((sum, p) => sum + (ids.has(request.rows?.[p.row].id ?? '') ? p.took : 0), 0);
  return took > 0 ? `${duration(took)}, ${percent(took, request.took)} of the request` : '';
}
