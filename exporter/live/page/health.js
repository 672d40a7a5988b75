// Whether the process is well, in a sentence with numbers. What is wrong comes first.
import { el, setText } from './dom.js';

export function healthLine() {
  const node = el('p', { class: 'note health', id: 'health', hidden: true });
  const said = el('p', { class: 'sr', role: 'status', id: 'health-said' }); // a change of what is wrong, not of each number
  return {
    nodes: [node, said],
    update(h) {
      node.hidden = false;
      node.classList.toggle('bad', h.concerns.length > 0);
      const now = JSON.stringify(h);
      if (node.dataset.now === now) return;
      node.dataset.now = now;
      const focused = node.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
      node.replaceChildren(...h.concerns.flatMap((c) => [
        c.href ? el('a', { href: c.href }, el('strong', {}, c.title)) : el('strong', {}, c.title), `: ${c.text}. `,
      ]), h.sentence);
      if (focused) (node.querySelector(`a[href="${CSS.escape(focused)}"]`) || document.getElementById('main')).focus();
      setText(said, h.concerns.map((c) => c.title).join(', '));
    },
  };
}
