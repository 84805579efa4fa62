// Tools and what the model is told about them: definitions, the configuration with a switch for each tool, and a preview of the prompt.
// The tester and the editor of an agent are both made of these parts.
import { copy, h } from "../element/dom.js";
import { prompt, withheld } from "./discovery.js";
import { tokens } from "./tokens.js";
import { area, button, checkbox, droppable, field, panel, said, say, select, w } from "./ui.js";

/** The definitions and the faults in them. */
export function definitions(store) {
  const fault = h("p", { class: "fault", role: "status" });
  const text = area("10", store.definitions, (definitions) => store.set({ definitions }), { class: "code" });
  droppable(text, (definitions) => store.set({ definitions }));
  store.watch(["definitions"], () => {
    if (text.value !== store.definitions) text.value = store.definitions;
    fault.textContent = store.fault;
  });
  return panel(
    "definitions",
    said("p", "definitions help", { class: "help" }),
    h("label", {}, said("span", "definitions", { class: "hidden" }), text),
    fault,
  );
}

/** The list of tools, each with a switch; `rules` adds the rule of an agent to each. */
export function switches(store, { rules = false } = {}) {
  const count = h("p", { class: "count", role: "status" });
  const list = h("ul", { class: "tools" });
  const row = (tool) => {
    const why = withheld(tool, store.config);
    const label = h(
      "label",
      { class: "tool" },
      checkbox(why === null, (on) => store.toggle(tool.id, on), { disabled: why !== null && why !== "off" }),
      h(
        "span",
        { class: "tool-text" },
        h("span", { class: "tool-name" }, tool.id),
        h("span", { class: "tool-about" }, tool.description ?? ""),
      ),
    );
    const state = why === null ? null : said("span", why, { class: "why" });
    const rule = rules && why === null ? ruleOf(tool.id) : null;
    return h("li", { class: why === null ? "on" : "out" }, label, state, rule);
  };
  const ruleOf = (id) => {
    const options = ["allow", "confirm", "deny"].map((rule) => [rule, { key: `policy ${rule}` }]);
    const node = select(options, store.rules[id] ?? "allow", (rule) => store.set({ rules: { ...store.rules, [id]: rule } }));
    node.setAttribute("aria-label", `${w("policy")}: ${id}`);
    return node;
  };
  // A switch keeps the focus although its list is made again.
  const at = () => [...list.querySelectorAll("input")].indexOf(document.activeElement);
  store.watch(["definitions", "config"], () => {
    const focused = at();
    say(count, store.tools.length === 0 ? "no tools" : "offered", store.offered.length, store.tools.length);
    list.replaceChildren(...store.tools.map(row));
    if (focused >= 0) list.querySelectorAll("input")[focused]?.focus();
  });
  return h("div", { class: "switches" }, count, list);
}

/** The editor of the configuration. */
export function configuration(store) {
  const flags = {
    enabled: "enabled",
    defaultToolEnabled: "default tool",
    requireConfirmation: "require confirmation",
    parallelExecution: "parallel",
  };
  const numbers = { maxIterations: "max iterations", timeout: "timeout" };
  const inputs = {};
  const box = h("div", { class: "fields" });
  for (const [name, key] of Object.entries(flags)) {
    inputs[name] = checkbox(store.config[name], (value) => store.configure({ [name]: value }));
    box.append(h("label", { class: "check" }, inputs[name], said("span", key)));
  }
  for (const [name, key] of Object.entries(numbers)) {
    inputs[name] = h("input", {
      type: "number",
      min: "1",
      on: { change: ({ target }) => target.validity.valid && target.value && store.configure({ [name]: target.valueAsNumber }) },
    });
    box.append(field(key, inputs[name]));
  }
  store.watch(["config"], () => {
    for (const name of Object.keys(flags)) {
      inputs[name].checked = store.config[name];
      inputs[name].disabled = store.locked.includes(name);
    }
    for (const name of Object.keys(numbers)) inputs[name].value = store.config[name];
  });
  return box;
}

/** The dialects that have calls. */
export function dialects(toolglot) {
  return toolglot
    .dialects()
    .filter(({ openers, family, reasoningOpeners }) => openers.length > 0 || (family && reasoningOpeners.length === 0));
}

/** The dialect of a prompt: that of the store, unless it has none in particular. */
export function taught(store) {
  return ["detect", "default"].includes(store.dialect) ? "hermes" : store.dialect;
}

/** The preview of the prompt. `server` asks a server for it, which knows what its model is told. */
export function preview(store, { server = null } = {}) {
  const text = h("pre", {
    "class": "code preview",
    "tabindex": "0",
    "role": "group",
    "data-label": "prompt",
    "aria-label": w("prompt"),
  });
  const count = h("p", { class: "count", role: "status" });
  const lang = select(
    [
      ["en", "English"],
      ["zh", "中文"],
    ],
    store.lang,
    (value) => store.set({ lang: value }),
  );
  const take = button("copy", () => copy(take, text.textContent, w));
  const dialect = h("span", { class: "tag" });
  const here = () => prompt(store.toolglot, store.offered, taught(store), store.lang);
  let last = 0;
  store.watch(["definitions", "config", "dialect", "lang"], async () => {
    lang.value = store.lang;
    dialect.textContent = taught(store);
    last += 1;
    const own = last;
    let made;
    try {
      made = server === null ? here() : (await server()).prompt;
    } catch (error) {
      made = error.message;
    }
    // Of several answers that are under way the last one counts.
    if (own !== last) return;
    text.textContent = made;
    say(count, "tokens", tokens(made));
  });
  return panel(
    "prompt",
    server === null ? said("p", "prompt help", { class: "help" }) : said("p", "prompt server help", { class: "help" }),
    h("div", { class: "row" }, dialect, server === null ? field("prompt language", lang) : null, take),
    text,
    count,
  );
}

export function setup(store) {
  return [definitions(store), panel("configuration", configuration(store), switches(store)), preview(store)];
}
