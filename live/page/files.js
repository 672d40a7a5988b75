// The files that a session or a request is offered as.
import { el } from './dom.js';

/**
 * fileList lists files below a path, each with its use.
 * @param {string} path
 * @param {Data.format[]} files
 * @param {(event: MouseEvent) => void} [onclick]
 */
export function fileList(path, files, onclick) {
  return el('ul', { class: 'files' }, files.map(({ format, name, use }) => {
    const link = el('a', { href: `${path}/${format}`, download: '', data: { format } }, name);
    if (onclick) link.addEventListener('click', onclick);
    return el('li', {}, link, el('span', { class: 'muted' }, ` ${use}`));
  }));
}

/**
 * filesMenu is a list of files that opens by its summary.
 * @param {string} path
 * @param {Data.format[]} files
 */
export function filesMenu(path, files) {
  return el('details', { class: 'menu', id: 'files' }, el('summary', {}, 'Files of this request'), fileList(path, files));
}
