// A JSON value as a tree that opens. Branches are made when they are opened.
import { h, said } from "./dom.js";

/** Children of a list or an object that are shown at once. */
const SHOWN = 100;
/** Siblings with which branches of the first level are open. */
const OPEN = 1;
/** Characters of a value in one line. */
const LINE = 80;

/** What stands for a value in one line. */
export function brief(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > LINE ? `${text.slice(0, LINE)}…` : text;
}

function leaf(value) {
  const kind = value === null ? "null" : typeof value;
  return h("span", { class: `leaf ${kind}` }, typeof value === "string" ? value : JSON.stringify(value));
}

/** The tree of a value; `w` are the words of the page. */
export function tree(value, w, depth = 0) {
  if (value === null || typeof value !== "object") return leaf(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return leaf(value);
  const list = h("div", { class: "tree" });
  const more = (from) => {
    for (const [key, inner] of entries.slice(from, from + SHOWN)) list.append(branch(key, inner, w, depth, entries.length));
    const rest = entries.length - from - SHOWN;
    if (rest <= 0) return;
    const button = said(w, "button", "more", { type: "button", on: { click: () => (button.remove(), more(from + SHOWN)) } }, rest);
    list.append(button);
  };
  more(0);
  return list;
}

function branch(key, value, w, depth, siblings) {
  const name = h("span", { class: "key" }, key);
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0)
    return h("div", { class: "branch" }, name, leaf(value));
  const inside = h("details", {}, h("summary", {}, name, h("span", { class: "brief" }, brief(value))));
  const open = () => inside.childElementCount === 1 && inside.append(tree(value, w, depth + 1));
  inside.addEventListener("toggle", open);
  if (depth < 1 && siblings <= OPEN) {
    inside.open = true;
    open();
  }
  return inside;
}
