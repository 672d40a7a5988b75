// Making elements. Text is only ever set as text: there is no way from here to markup.

/**
 * el makes an element. Properties beginning with "on" are listeners, "data" is an object of data
 * attributes, "vars" one of CSS variables; all others are attributes, of which null, undefined and
 * false are left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} properties
 * @param {any[]} children
 */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'data') Object.assign(node.dataset, value);
    else if (name === 'vars') setVars(node, value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

/**
 * elements are those below root that match a selector.
 * @param {ParentNode} root
 * @param {string} selector
 * @returns {HTMLElement[]}
 */
export const elements = (root, selector) => [...root.querySelectorAll(selector)].map((node) => /** @type {HTMLElement} */ (node));

/**
 * element is the first one below root that matches a selector. It must be there.
 * @param {ParentNode} root
 * @param {string} selector
 */
export const element = (root, selector) => /** @type {HTMLElement} */ (root.querySelector(selector));

/**
 * targetOf is the element of an event.
 * @param {Event} event
 */
export const targetOf = (event) => /** @type {HTMLElement} */ (event.target);

/**
 * setVars sets CSS variables, which is the only style that scripts set.
 * @param {HTMLElement} node
 * @param {Record<string, string | number>} vars
 */
export function setVars(node, vars) {
  for (const [name, value] of Object.entries(vars)) node.style.setProperty(`--${name}`, String(value));
}

/**
 * setText changes a text only if it is another one, so that a selection in it stays.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * bdi is text from outside, whose direction of writing is its own.
 * @param {string} text
 */
export function bdi(text, properties = {}) {
  return el('bdi', properties, text);
}

/**
 * reconcile makes the children of parent those of items, by their keys: what stays is neither
 * made anew nor moved, unless the order changed, so that focus, selection and scrolling stay.
 * @template T
 * @param {HTMLElement} parent
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => HTMLElement} make
 * @param {(node: HTMLElement, item: T) => void} update
 */
export function reconcile(parent, items, key, make, update) {
  const children = /** @type {HTMLElement[]} */ ([...parent.children]);
  const old = new Map(children.map((node) => [node.dataset.key, node]));
  const focused = focusIn(parent);
  const wanted = new Set(items.map(key));
  for (const [k, node] of old) if (k === undefined || !wanted.has(k)) node.remove();
  let next = parent.firstElementChild;
  for (const item of items) {
    const k = key(item);
    let node = old.get(k);
    if (!node) {
      node = make(item);
      node.dataset.key = k;
    }
    update(node, item);
    if (next && node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
  }
  if (!focused || focused === document.activeElement) return;
  // Moved elements lose the focus; of one that is gone, it goes to what is around it.
  (focused.isConnected ? focused : /** @type {HTMLElement | null} */ (parent.closest('[tabindex]')))?.focus({ preventScroll: true });
}

/**
 * focusIn returns the element below parent that has the focus, or null.
 * @param {HTMLElement} parent
 */
export function focusIn(parent) {
  const focused = document.activeElement;
  return parent.contains(focused) ? /** @type {HTMLElement | null} */ (focused) : null;
}

/**
 * replace changes the children of parent. The focus that was in it goes to the element with the
 * same id, or to next.
 * @param {HTMLElement} parent
 * @param {(Node | string)[]} nodes
 * @param {HTMLElement} next
 */
export function replace(parent, nodes, next) {
  const focused = focusIn(parent);
  parent.replaceChildren(...nodes);
  if (focused) ((focused.id && document.getElementById(focused.id)) || next).focus({ preventScroll: true });
}

/**
 * off takes a button away or gives it back, by its property "hidden" or "disabled"; the focus
 * that it may have goes on to next.
 * @param {HTMLButtonElement} button
 * @param {'hidden' | 'disabled'} property
 * @param {boolean} on
 * @param {HTMLElement | null} [next]
 */
export function off(button, property, on, next) {
  const had = on && button === document.activeElement;
  button[property] = on;
  if (had) next?.focus();
}

/**
 * arrows has the arrow keys move between the elements below root that match, in their order.
 * @param {HTMLElement} root
 * @param {string} selector
 */
export function arrows(root, selector) {
  root.addEventListener('keydown', (event) => {
    const target = targetOf(event);
    if (!target.matches(selector) || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = elements(root, selector).filter((node) => node.checkVisibility());
    const at = all.indexOf(target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[to]?.focus();
  });
}
