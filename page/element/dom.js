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
