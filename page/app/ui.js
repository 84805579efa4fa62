// Parts that the views of the page share. Words are put in by key, so that another language needs no new page.
import { words } from "../words.js";
import * as dom from "../element/dom.js";
import "../element/turn.js";

const { h } = dom;

/** The words in the language of the page. */
export const w = (...key) => words(document.documentElement)(...key);

/** An element that shows the words of a key, in the language of the page now and later. */
export function said(tag, key, props = {}, ...values) {
  return dom.said(w, tag, key, props, ...values);
}

/** Changes what an element of `said` says. */
export function say(node, key, ...values) {
  node.dataset.w = key;
  if (values.length > 0) node.dataset.v = JSON.stringify(values);
  else delete node.dataset.v;
  node.textContent = w(key, ...values);
}

/** Puts in the words again, below an element. */
export function translate(root) {
  dom.translate(root, w);
}

export function button(key, step, props = {}) {
  return said("button", key, { type: "button", ...props, on: { click: step } });
}

/** A field with its label. */
export function field(key, input, props = {}) {
  return h("label", { class: "field", ...props }, said("span", key), input);
}

export function select(options, value, change) {
  const node = h("select", { on: { change: () => change(node.value) } });
  options.forEach(([id, label]) =>
    node.append(typeof label === "string" ? h("option", { value: id }, label) : said("option", label.key, { value: id })),
  );
  node.value = value;
  return node;
}

export function checkbox(checked, change, props = {}) {
  const node = h("input", { type: "checkbox", class: "switch", ...props, on: { change: () => change(node.checked) } });
  node.checked = checked;
  return node;
}

export function area(rows, value, change, props = {}) {
  const node = h("textarea", { rows, spellcheck: "false", ...props, on: { input: () => change(node.value) } });
  node.value = value;
  return node;
}

/** A box with a heading, which folds. */
export function panel(key, ...content) {
  return h("details", { class: "panel", open: true }, h("summary", {}, said("h3", key)), h("div", { class: "inside" }, ...content));
}

/** Panels behind tabs: a list of keys and nodes. */
export function tabs(label, list) {
  const id = `tabs-${label.replaceAll(" ", "-")}`;
  const bar = h("div", { "class": "tabs", "role": "tablist", "aria-label": w(label), "data-label": label });
  const choose = (at, focus) =>
    list.forEach(([, node], one) => {
      const tab = bar.children[one];
      tab.setAttribute("aria-selected", String(one === at));
      tab.tabIndex = one === at ? 0 : -1;
      node.hidden = one !== at;
      if (one === at && focus) tab.focus();
    });
  list.forEach(([key, node], at) => {
    const tab = said("button", key, {
      "type": "button",
      "role": "tab",
      "id": `${id}-${at}`,
      "aria-controls": `${id}-panel-${at}`,
      "on": { click: () => choose(at) },
    });
    bar.append(tab);
    Object.assign(node, { id: `${id}-panel-${at}`, tabIndex: 0 });
    node.setAttribute("role", "tabpanel");
    node.setAttribute("aria-labelledby", tab.id);
    node.classList.add("tabpanel");
  });
  bar.addEventListener("keydown", ({ key }) => {
    const now = [...bar.children].findIndex((tab) => tab.tabIndex === 0);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step !== undefined) choose((now + step + list.length) % list.length, true);
  });
  choose(0);
  return h("div", { class: "tabbed" }, bar, ...list.map(([, node]) => node));
}

/** An element for a reply, in the theme of the page. */
export function turn(props = {}) {
  return h("toolglot-turn", { theme: document.documentElement.dataset.theme, ...props });
}

/** Offers a file to be saved. */
export function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Lets files be dropped on a text area. */
export function droppable(node, taken) {
  node.addEventListener("dragover", (event) => event.preventDefault());
  node.addEventListener("drop", async (event) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    taken(await event.dataTransfer.files[0].text());
  });
}
