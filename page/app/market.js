// The tools of several manifests, searched together. A tool can be added to the tester.
import { h } from "../element/dom.js";
import { read } from "./discovery.js";
import { said, say, select, w } from "./ui.js";

/** The key of the tester's own tools. */
const TESTER = "of tester";

export class Market {
  #store;
  /** Manifests: a name, or the key of one, and the tools. */
  #sources;
  #search = h("input", { "type": "search", "autocomplete": "off", "data-label": "search", "aria-label": w("search") });
  #source;
  #sourceField;
  #tag = "";
  #tags = h("div", { class: "chips" });
  #count = h("p", { class: "count", role: "status" });
  #fault = h("p", { class: "fault", role: "alert" });
  #grid = h("ul", { class: "grid" });

  constructor(store, served, node) {
    this.#store = store;
    this.#sources =
      served.length > 0
        ? [
            {
              key: "server",
              tools: read(
                store.toolglot,
                JSON.stringify({ tools: served.map((tool) => ({ id: tool.name, agentCallable: true, ...tool })) }),
              ).tools,
            },
          ]
        : [];
    this.#sources.push({ key: TESTER, tools: [] });
    const files = h("input", {
      type: "file",
      multiple: true,
      accept: ".json,application/json",
      class: "hidden-file",
      id: "market-files",
    });
    files.addEventListener("change", () => void this.add([...files.files]));
    node.addEventListener("dragover", (event) => event.preventDefault());
    node.addEventListener("drop", (event) => {
      event.preventDefault();
      void this.add([...event.dataTransfer.files]);
    });
    this.#search.addEventListener("input", () => this.#show());
    this.#sourceField = h("label", { class: "field" }, said("span", "manifest"));
    node.append(
      h(
        "div",
        { class: "row wide market-bar" },
        h("label", { class: "field grow-field" }, said("span", "search"), this.#search),
        this.#sourceField,
        h("label", { class: "file-button", for: "market-files" }, said("span", "add manifest"), files),
      ),
      this.#tags,
      this.#fault,
      this.#count,
      this.#grid,
    );
    this.#choices();
    store.watch(["definitions"], () => {
      this.#sources.find(({ key }) => key === TESTER).tools = store.tools;
      this.#show();
    });
  }

  /** Adds the tools of files. */
  async add(files) {
    this.#fault.textContent = "";
    for (const file of files) {
      const { tools, fault } = read(this.#store.toolglot, await file.text());
      if (fault) this.#fault.textContent += `${w("cannot read", file.name, fault)}\n`;
      if (tools.length > 0) this.#sources.push({ name: file.name, tools });
    }
    this.#choices();
    this.#show();
  }

  #choices() {
    const before = this.#source?.value ?? "";
    const options = this.#sources.map(({ name, key }, at) => [String(at), name ?? { key }]);
    this.#source = select([["", { key: "all manifests" }], ...options], before, () => this.#show());
    this.#sourceField.querySelector("select")?.remove();
    this.#sourceField.append(this.#source);
  }

  /** The tools of all manifests; those of the tester only where no manifest has them, unless it was chosen. */
  #all() {
    const listed = this.#sources.map((source, at) => ({ source, at: String(at) }));
    const ids = new Set(this.#sources.filter(({ key }) => key !== TESTER).flatMap(({ tools }) => tools.map(({ id }) => id)));
    const own = ({ source, at }) => source.key === TESTER && this.#source.value !== at;
    const tools = (one) => one.source.tools.filter(({ id }) => !own(one) || !ids.has(id)).map((tool) => ({ ...one, tool }));
    return listed.flatMap(tools);
  }

  #show() {
    const all = this.#all();
    const words = this.#search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({ tool, at }) => {
      if (this.#source.value !== "" && this.#source.value !== at) return false;
      if (this.#tag !== "" && !tool.tags?.includes(this.#tag)) return false;
      const text = searched(tool);
      return words.every((word) => text.includes(word));
    };
    const found = all.filter(fits);
    this.#chips(all);
    say(this.#count, "found", found.length, all.length);
    this.#grid.replaceChildren(...found.map((one) => this.#card(one)));
  }

  #chips(all) {
    const tags = [...new Set(all.flatMap(({ tool }) => tool.tags ?? []))].sort();
    const focused = document.activeElement?.dataset?.tag;
    this.#tags.replaceChildren(
      ...tags.map((tag) =>
        h(
          "button",
          {
            "type": "button",
            "class": "chip",
            "data-tag": tag,
            "aria-pressed": String(tag === this.#tag),
            "on": { click: () => this.#choose(tag) },
          },
          tag,
        ),
      ),
    );
    if (focused) this.#tags.querySelector(`[data-tag="${CSS.escape(focused)}"]`)?.focus();
  }

  #choose(tag) {
    this.#tag = tag === this.#tag ? "" : tag;
    this.#show();
  }

  #card({ tool, source }) {
    const used = this.#store.tools.some(({ id }) => id === tool.id);
    const use = said("button", used ? "used" : "use", { type: "button", disabled: used, on: { click: () => this.#use(tool) } });
    const from =
      source.name === undefined ? said("span", source.key, { class: "from" }) : h("span", { class: "from" }, source.name);
    const properties = Object.entries(tool.parameters?.properties ?? {});
    const parameter = ([name, schema]) =>
      h(
        "div",
        {},
        h("dt", {}, name, tool.parameters.required?.includes(name) ? said("span", "required", { class: "why" }) : null),
        h("dd", {}, [typeText(schema), schema?.description].filter(Boolean).join(": ")),
      );
    return h(
      "li",
      { class: "tool-card" },
      h("div", { class: "tool-head" }, h("h3", {}, tool.id), from),
      h("p", {}, tool.description ?? ""),
      properties.length > 0
        ? h(
            "details",
            {},
            h("summary", {}, said("span", "parameters"), ` (${properties.length})`),
            h("dl", {}, ...properties.map(parameter)),
          )
        : null,
      h("div", { class: "row" }, ...(tool.tags ?? []).map((tag) => h("span", { class: "tag" }, tag)), use),
    );
  }

  #use(tool) {
    const tools = [...this.#store.tools, { ...tool, agentCallable: true }];
    this.#store.set({ definitions: JSON.stringify({ tools }, null, 2) });
  }
}

/** What a search looks at. */
function searched({ id, displayName = "", description = "", tags = [], parameters }) {
  return [id, displayName, description, ...tags, ...Object.keys(parameters?.properties ?? {})].join(" ").toLowerCase();
}

/** The type of a parameter in a word. */
function typeText(schema) {
  if (schema === null || typeof schema !== "object") return "";
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  return Array.isArray(schema.type) ? schema.type.join(" | ") : (schema.type ?? "");
}
