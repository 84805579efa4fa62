// Makes elements. Text becomes text nodes only: nothing here parses markup, so no byte of a model can become an element.

/**
 * Makes an element. `props` are attributes, except `class`, and `on`, an object of listeners. A value of `true` is an empty attribute;
 * `false`, `null` and `undefined` are left out. Children are nodes or strings.
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Makes an element that says the words of a key; {@link translate} says them in another language. `w` are the words. */
export function said(w, tag, key, props = {}, ...values) {
  return h(tag, { ...props, "data-w": key, "data-v": values.length > 0 ? JSON.stringify(values) : undefined }, w(key, ...values));
}

/** Attributes for an element whose label is the words of a key. */
export function labelled(w, key, ...values) {
  return { "aria-label": w(key, ...values), "data-label": key, "data-v": values.length > 0 ? JSON.stringify(values) : undefined };
}

/** Puts in the words again, below a node. */
export function translate(root, w) {
  const values = (node) => JSON.parse(node.dataset.v ?? "[]");
  for (const node of root.querySelectorAll("[data-w]")) node.textContent = w(node.dataset.w, ...values(node));
  for (const node of root.querySelectorAll("[data-label]")) node.setAttribute("aria-label", w(node.dataset.label, ...values(node)));
}

let last = 0;

/** An id that is unique in the document. */
export function fresh(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}

/** Copies a text to the clipboard, and tells on the button whether that worked. */
export async function copy(button, text, w) {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = w("copied");
  } catch {
    button.textContent = w("not copied");
  }
  setTimeout(() => (button.textContent = said), 1500);
}
