// Which process answers. Behind a load balancer, each answer may come from another process.
import { element, setText } from './dom.js';
import { iso } from './format.js';

/** @type {Data.pageState | null} */
let shown = null; // the process of the lists, which the header names

/** @param {{ host: string, processStarted: number }} of */
const said = (of) => `${of.host || 'unknown host'}, since ${iso(of.processStarted).slice(0, 19).replace('T', ' ')} UTC`;

/** @param {string} text */
function note(text) {
  const node = element(document, '#instance-note');
  node.hidden = false;
  setText(node, `${text} Behind a load balancer, each answer may come from another process.`);
}

/**
 * showInstance names the process of the lists in the page's header, and says when another process sends them.
 * @param {Data.pageState} page
 */
export function showInstance(page) {
  if (shown && shown.instance !== page.instance) note(`The lists are now of ${said(page)}. They were of ${said(shown)}.`);
  shown = page;
  const node = element(document, '#instance');
  setText(node, page.sampledOnly ? `${said(page)}. Only sampled requests are here` : said(page));
  const dropped = page.sampledOnly ? '. OpenTelemetry’s SDK makes the spans, and drops unsampled requests.' : '';
  node.title = `service.instance.id: ${page.id || 'unknown'}${dropped}`;
}

/**
 * noteInstance says when another process than that of the lists has answered.
 * @param {Headers} headers of the answer
 */
export function noteInstance(headers) {
  const answered = new URLSearchParams(headers.get('Perfline-Instance') ?? '');
  const instance = answered.get('instance');
  if (!shown || !instance || instance === shown.instance) return;
  const of = { host: answered.get('host') ?? '', processStarted: Number(answered.get('processStarted')) };
  note(`The last answer is of ${said(of)}. The lists are of ${said(shown)}.`);
}
