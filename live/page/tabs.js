// Tabs: the arrow keys choose one, and the tab key leads on into its panel.
import { el } from './dom.js';

/**
 * tabs makes a list of tabs with one panel. onChoose gets the id of the tab that is chosen by the user.
 * @param {string} label
 * @param {{ id: string, name: string }[]} all
 * @param {(id: string) => void} onChoose
 */
export function tabs(label, all, onChoose) {
  const panel = el('div', { role: 'tabpanel', id: 'panel', tabindex: '-1' });
  const buttons = all.map(({ id, name }) => el('button', {
    type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': 'panel', 'aria-selected': 'false', tabindex: '-1', data: { tab: id }, onclick: () => onChoose(id),
  }, name));
  const list = el('div', { role: 'tablist', 'aria-label': label, class: 'tabs', onkeydown: move }, buttons);

  /** @param {KeyboardEvent} event */
  function move(event) {
    const at = buttons.findIndex((button) => button === event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at < 0 || to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = buttons[(to + buttons.length) % buttons.length];
    next.focus();
    onChoose(String(next.dataset.tab));
  }

  return {
    list,
    panel,
    /** @param {string} id */
    show(id) {
      for (const button of buttons) {
        const on = button.dataset.tab === id;
        button.setAttribute('aria-selected', String(on));
        button.tabIndex = on ? 0 : -1;
        if (on) panel.setAttribute('aria-labelledby', button.id);
      }
    },
  };
}
