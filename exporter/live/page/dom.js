// Making elements. Text is only ever set as text: there is no way from here to markup.

/**
 * el makes an element. Properties beginning with "on" are listeners, "data" is an object of data
 * attributes, "vars" one of CSS variables; all others are attributes, of which null, undefined and
 * false are left out.
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

/** setVars sets CSS variables, which is the only style that scripts set. */
export function setVars(node, vars) {
  for (const [name, value] of Object.entries(vars)) node.style.setProperty(`--${name}`, value);
}

/** setText changes a text only if it is another one, so that a selection in it stays. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** bdi is text from outside, whose direction of writing is its own. */
export function bdi(text, properties = {}) {
  return el('bdi', properties, text);
}

/**
 * reconcile makes the children of parent those of items, by their keys: what stays is neither
 * made anew nor moved, unless the order changed, so that focus, selection and scrolling stay.
 */
export function reconcile(parent, items, key, make, update) {
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const wanted = new Set(items.map(key));
  for (const [k, node] of old) if (!wanted.has(k)) node.remove();
  let next = parent.firstElementChild;
  for (const item of items) {
    const k = key(item);
    let node = old.get(k);
    if (!node) {
      node = make(item);
      node.dataset.key = k;
    }
    update(node, item);
    if (node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
  }
  if (!focused || focused === document.activeElement) return;
  // Moved elements lose the focus; of one that is gone, it goes to what is around it.
  (focused.isConnected ? focused : parent.closest('[tabindex]'))?.focus({ preventScroll: true });
}

/** replace changes the children of parent. The focus that was in it goes to the element with the same id, or to next. */
export function replace(parent, nodes, next) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  parent.replaceChildren(...nodes);
  if (focused) ((focused.id && document.getElementById(focused.id)) || next).focus({ preventScroll: true });
}

/**
 * off takes a button away or gives it back, by its property "hidden" or "disabled"; the focus
 * that it may have goes on to next.
 */
export function off(button, property, on, next) {
  const had = on && button === document.activeElement;
  button[property] = on;
  if (had) next?.focus();
}

/** arrows has the arrow keys move between the elements below root that match, in their order. */
export function arrows(root, selector) {
  root.addEventListener('keydown', (event) => {
    if (!event.target.matches(selector) || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = [...root.querySelectorAll(selector)].filter((node) => node.checkVisibility());
    const at = all.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[to]?.focus();
  });
}
