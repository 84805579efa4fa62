// The card of a call: its name, its arguments as they are written, its state, what is wrong with it, the question to a person, and its
// result.
import { copy, fresh, h, labelled, said } from "./dom.js";
import { Growing } from "./grow.js";
import { tree } from "./json.js";

/** The states in which nothing more is expected of the model or the tool. */
export const ENDED = new Set(["done", "failed", "timed_out", "denied", "cancelled", "not_run", "void"]);
/** Names that runs have for some of them. */
const ALSO = { completed: "done", stands: "written" };

/** The text of a result as a person reads it, or `null` if it is a value to show as a tree. */
function plain(content) {
  if (typeof content === "string") return content;
  const texts = Array.isArray(content) && content.length > 0 && content.every((part) => part?.type === "text");
  return texts ? content.map((part) => part.text).join("\n") : null;
}

/** A list of parts with one JSON value is that value. */
function value(content) {
  return Array.isArray(content) && content.length === 1 && content[0]?.type === "json" ? content[0].json : content;
}

export class Card {
  #view;
  #badge = h("span", { class: "state" });
  #params = h("dl", { class: "params" });
  /** Open parameters: how deep they are, and their text. */
  #open = [];
  #json = null;
  #jsonText = null;
  #warnings = null;
  #ask = null;
  #progress = null;
  #result = null;
  #decode = null;
  /** Whether parameters came while the call itself was open, and not only as a preview of it. */
  #live = false;
  #final = null;

  constructor(view, name, { dialect = "", call = null, provisional = false } = {}) {
    this.#view = view;
    this.name = name;
    this.call = call;
    this.provisional = provisional;
    this.digest = null;
    this.state = "";
    const [label, badge] = [fresh("call"), fresh("state")];
    this.#badge.id = badge;
    this.#grade = h("span", { class: "grade", hidden: true });
    this.#head = h(
      "div",
      { class: "head" },
      h("span", { "class": "mark", "aria-hidden": "true" }),
      h("span", { class: "name", id: label }, name),
      h("span", { class: "dialect" }, dialect),
      this.#grade,
      this.#badge,
    );
    this.node = h("div", { "class": "card", "role": "group", "aria-labelledby": `${label} ${badge}` }, this.#head, this.#params);
    this.set("writing");
  }

  #head;
  #grade;

  /** Changes the state. States that have ended stay. */
  set(given, announce = true) {
    const state = ALSO[given] ?? given;
    if (this.state === state || ENDED.has(this.state)) return;
    this.state = state;
    this.node.dataset.state = state;
    this.#badge.dataset.w = `state ${state}`;
    this.#badge.textContent = this.#view.w(`state ${state}`);
    if (state !== "waiting") this.#close();
    if (announce) this.#view.said(this);
  }

  // Arguments.

  paramOpen(name, depth) {
    if (this.call !== null) this.#live = true;
    this.#open.push(this.#row(name, depth));
    this.#decode = new TextDecoder("utf-8", { ignoreBOM: true });
  }

  paramText(bytes) {
    if (this.#decode === null) return;
    this.#open.at(-1)?.push(this.#decode.decode(bytes, { stream: true }));
  }

  paramClose() {
    if (this.#decode === null) return;
    this.#open.pop()?.push(this.#decode.decode());
    if (this.#open.length === 0) this.#decode = null;
  }

  /** The next piece of the arguments as JSON. */
  json(text) {
    if (this.#json === null) {
      this.#jsonText = new Growing(this.#view.dirty, { label: this.#view.w("as json"), kind: "code" });
      this.#json = h("details", { class: "json" }, said(this.#view.w, "summary", "as json"), this.#jsonText.node);
      this.#params.after(this.#json);
    }
    this.#jsonText.push(text);
  }

  /** The whole arguments; what was shown before they were known goes. */
  arguments(json) {
    if (this.#live || json === null) return;
    this.#params.replaceChildren();
    let all;
    try {
      all = JSON.parse(json);
    } catch {
      all = null;
    }
    if (all === null || typeof all !== "object" || Array.isArray(all)) {
      this.#row(this.#view.w("arguments")).push(json);
      return;
    }
    for (const [name, one] of Object.entries(all)) this.#row(name).push(typeof one === "string" ? one : JSON.stringify(one));
  }

  /** The arguments with which the call runs, which are not always those that were written. */
  final(json) {
    if (json === undefined || json === this.#final) return;
    this.#final = json;
    this.#live = false;
    this.arguments(json);
    this.#json?.remove();
    this.#json = null;
    this.json(json);
  }

  /** Adds a parameter and returns its value, which grows. */
  #row(name, depth = 0) {
    const text = new Growing(this.#view.dirty, { label: name });
    this.#params.append(h("div", { class: `param depth${Math.min(depth, 4)}` }, h("dt", {}, name), h("dd", {}, text.node)));
    return text;
  }

  /** The call opens: what was shown until now was a preview of its block. */
  opened(event) {
    this.call = event.call;
    this.provisional = false;
    this.#head
      .querySelector(".dialect")
      .replaceWith(
        event.native
          ? said(this.#view.w, "span", "api call", { class: "dialect" })
          : h("span", { class: "dialect" }, event.dialect),
      );
    this.#params.replaceChildren();
    this.#open = [];
    this.#decode = null;
  }

  closed(event) {
    this.arguments(event.argumentsJson);
    if (event.grade !== "complete") {
      this.#grade.hidden = false;
      this.#grade.dataset.w = `grade ${event.grade}`;
      this.#grade.textContent = this.#view.w(`grade ${event.grade}`);
      this.#grade.dataset.grade = event.grade;
    }
    this.set("written");
  }

  warn(issue) {
    if (this.#warnings === null) {
      this.#warnings = h("ul", { class: "warnings", ...labelled(this.#view.w, "warnings") });
      this.node.insertBefore(this.#warnings, this.#ask ?? this.#progress?.node ?? this.#result);
    }
    this.#warnings.append(warning(issue, this.#view));
  }

  // The question to a person. Only with a digest of what is shown can it be answered.

  confirm({ arguments: json, digest = null, reason = "" }) {
    this.digest = digest;
    const text = typeof json === "string" ? json : JSON.stringify(json);
    this.final(text);
    this.asked = { json: text, reason };
    this.set("waiting");
    this.#question();
  }

  #question() {
    this.#close();
    const { w, decide } = this.#view;
    const button = (word, kind, key, step) =>
      said(w, "button", word, { "type": "button", "class": kind, "aria-keyshortcuts": key, "on": { click: step } });
    this.#ask = h("div", { class: "ask" });
    if (this.asked.reason) this.#ask.append(h("p", { class: "why" }, this.asked.reason));
    this.#ask.append(
      h(
        "div",
        { class: "buttons" },
        button("approve", "yes", "a", () => decide(this, "approve")),
        button("deny", "no", "d", () => decide(this, "deny")),
        button("edit", "edit", "e", () => this.edit()),
      ),
    );
    this.node.append(this.#ask);
  }

  /** Opens an editor for the arguments. */
  edit() {
    if (this.#ask === null || this.#ask.querySelector("textarea")) return;
    const { w, decide } = this.#view;
    const fault = h("p", { class: "fault", role: "alert" });
    const area = h("textarea", { rows: "6", spellcheck: "false", ...labelled(w, "edit arguments of", this.name) });
    try {
      area.value = JSON.stringify(JSON.parse(this.asked.json), null, 2);
    } catch {
      area.value = this.asked.json;
    }
    const send = () => {
      let read = null;
      try {
        read = JSON.parse(area.value);
      } catch (error) {
        fault.textContent = error.message;
        return;
      }
      if (read === null || typeof read !== "object" || Array.isArray(read)) fault.textContent = w("an object");
      else decide(this, "approve", read);
    };
    const back = () => {
      this.#question();
      this.focus();
    };
    this.#ask.replaceChildren(
      area,
      fault,
      h(
        "div",
        { class: "buttons" },
        said(w, "button", "approve edited", { type: "button", class: "yes", on: { click: send } }),
        said(w, "button", "back", { type: "button", on: { click: back } }),
      ),
    );
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") back();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    });
    area.focus();
  }

  /** Tells that a decision was not taken. */
  refused(message) {
    if (this.#ask === null) return;
    this.#question();
    this.#ask.append(h("p", { class: "fault", role: "alert" }, message));
  }

  focus() {
    this.#ask?.querySelector("button")?.focus();
  }

  #close() {
    this.#ask?.remove();
    this.#ask = null;
  }

  // Execution.

  progress(text) {
    if (this.#progress === null) {
      this.#progress = new Growing(this.#view.dirty, { label: this.#view.w("progress"), kind: "progress" });
      this.node.append(this.#progress.node);
    }
    this.#progress.push(text);
  }

  task(id) {
    this.node.append(said(this.#view.w, "p", "task", { class: "task" }, id));
  }

  /** The result: `content` is text, parts, or a value. */
  result(content, ms = null) {
    const { w } = this.#view;
    if (this.#result !== null) this.#result.remove();
    const given = value(content);
    const text = plain(given);
    const button = said(w, "button", "copy", { type: "button", class: "copy" });
    const whole = text ?? JSON.stringify(given ?? null, null, 2);
    button.addEventListener("click", () => copy(button, whole, w));
    const head = h(
      "div",
      { class: "result-head" },
      said(w, "span", "result", { class: "label" }),
      ms === null ? null : said(w, "span", "ms", { class: "ms" }, ms),
      button,
    );
    this.#result = h("div", { class: "result", role: "group", ...labelled(w, "result of", this.name) }, head);
    if (text !== null && text !== "") {
      const shown = new Growing(this.#view.dirty, { label: w("result of", this.name), kind: "code" });
      shown.push(text);
      this.#result.append(shown.node);
    } else if (text === null && given !== null && given !== undefined) {
      this.#result.append(tree(given, w));
    }
    this.node.append(this.#result);
  }
}

/** A line about an issue. */
export function warning({ severity, kind, message }, view) {
  return h(
    "li",
    { class: severity },
    h("span", { class: "kind" }, kind),
    h("span", {}, ` ${message} `),
    said(view.w, "span", severity, { class: "hidden" }),
  );
}
