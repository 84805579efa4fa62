// The tester: a reply is pasted, played in chunks, and shown as the parser reads it.
import { copy, h } from "../element/dom.js";
import { Calls } from "./calls.js";
import { declared } from "./discovery.js";
import { REPLIES } from "./examples.js";
import { Log, recording } from "./log.js";
import { Console, Events, Observations, holding } from "./outputs.js";
import { Player } from "./player.js";
import { setup, dialects } from "./setup.js";
import { pack } from "./share.js";
import { Source } from "./source.js";
import { area, button, droppable, field, panel, said, save, say, select, tabs, turn as turnElement, w } from "./ui.js";

const ENDINGS = ["stop", "length", "tool_calls", "error", "cancelled"];
/** Above this number of characters, some programs cut links. */
const LONG = 8000;
const encoder = new TextEncoder();

export class Tester {
  #store;
  #player = null;
  #engine = null;
  #log = new Log();
  /** Calls that have closed, and how many of them before the open block. */
  #closed = [];
  #before = 0;

  #source = new Source();
  #turn = turnElement({ keys: true });
  #events = new Events((start, end) => this.#source.mark("event", start, end, true));
  #json = h("pre", { "class": "code console", "tabindex": "0", "role": "group", "data-label": "turn", "aria-label": w("turn") });
  #deltas = new Console("openai");
  #observations = new Observations();
  #calls;
  #text;
  #play = button("play", () => this.#toggle(), { class: "main" });
  #step = button("step", () => this.#next());
  #edit = button("restart", () => this.#reset(), { disabled: true });
  #save = button("save recording", () => this.#record(), { disabled: true });
  #position = said("span", "position", {}, 0, 0);
  #held = said("span", "held none", { class: "held" });
  #hint = said("p", "shown hint", { class: "help" });
  #detected = h("p", { class: "help", role: "status" });
  #note = h("p", { class: "help", role: "status" });

  constructor(store, { setup: left, reply, becomes }) {
    this.#store = store;
    this.#calls = new Calls(store, this.#turn);
    left.append(...setup(store));
    reply.append(
      this.#input(),
      tabs("shown as", [
        ["events", h("div", {}, this.#events.node)],
        ["turn", h("div", {}, this.#json)],
        ["openai", h("div", {}, this.#deltas.node)],
        ["observations", this.#observations.node],
        ["execute", this.#calls.node],
      ]),
    );
    becomes.append(said("h3", "shown as", { class: "heading" }), this.#hint, this.#turn);
    store.watch(["reply", "dialect", "definitions", "finish"], () => this.#reset());
  }

  #input() {
    const { toolglot } = this.#store;
    this.#text = area("12", this.#store.reply, (reply) => this.#store.set({ reply }), {
      class: "code",
      placeholder: w("reply help"),
    });
    droppable(this.#text, (reply) => this.#store.set({ reply }));
    const example = select([["", { key: "choose" }], ...Object.keys(REPLIES).map((name) => [name, name])], "", (name) => {
      if (name !== "") this.#store.set({ reply: REPLIES[name], dialect: "detect" });
    });
    const known = dialects(toolglot).map(({ id, title }) => [id, `${id}: ${title}`]);
    const dialect = select([["detect", { key: "detect" }], ["default", { key: "default set" }], ...known], "", (id) =>
      this.#store.set({ dialect: id }),
    );
    const ending = select(
      ENDINGS.map((one) => [one, one]),
      "",
      (finish) => this.#store.set({ finish }),
    );
    this.#store.watch(["dialect", "finish", "reply"], () => {
      dialect.value = this.#store.dialect;
      ending.value = this.#store.finish;
      if (this.#text.value !== this.#store.reply) this.#text.value = this.#store.reply;
    });
    const share = button("share", () => this.#share(share));
    return panel(
      "reply text",
      h("div", { class: "row wide" }, field("examples", example), field("dialect", dialect), field("ending", ending)),
      this.#detected,
      h("label", {}, said("span", "reply text", { class: "hidden" }), this.#text),
      this.#source.node,
      h("div", { class: "row wide" }, this.#slider("chunk size", "chunk", 64), this.#slider("delay", "delay", 200)),
      h("div", { class: "row" }, this.#play, this.#step, this.#edit, this.#save, share),
      h("p", { class: "progress" }, this.#position, this.#held),
      this.#note,
    );
  }

  /** A slider for a member of the store; the chunk's last place is the whole reply. */
  #slider(key, name, most) {
    const value = h("output");
    const input = h("input", { type: "range", min: name === "chunk" ? 1 : 0, max: name === "chunk" ? most + 1 : most });
    input.addEventListener("input", () =>
      this.#store.set({ [name]: name === "chunk" && input.valueAsNumber > most ? 0 : input.valueAsNumber }),
    );
    this.#store.watch([name], () => {
      const now = this.#store[name];
      input.value = name === "chunk" && now === 0 ? most + 1 : now;
      const text = name === "delay" ? ["ms", now] : now === 0 ? ["whole"] : ["bytes", now];
      say(value, ...text);
      input.setAttribute("aria-valuetext", value.textContent);
    });
    return h("label", { class: "field slider" }, said("span", key), input, value);
  }

  /** Back to editing. */
  #reset() {
    this.#player?.free();
    this.#player = null;
    this.#engine?.free();
    this.#engine = null;
    this.#log = new Log();
    this.#closed = [];
    this.#before = 0;
    this.#turn.clear();
    this.#hint.hidden = false;
    this.#events.clear();
    this.#deltas.clear();
    this.#observations.clear();
    this.#calls.clear();
    this.#json.textContent = "";
    this.#note.textContent = "";
    this.#detected.textContent = "";
    this.#text.parentNode.hidden = false;
    this.#source.node.hidden = true;
    this.#edit.disabled = true;
    this.#save.disabled = true;
    this.#step.disabled = false;
    say(this.#play, "play");
    this.#play.disabled = this.#store.reply === "";
    say(this.#position, "position", 0, encoder.encode(this.#store.reply).length);
    say(this.#held, "held none");
  }

  /** The ids that the choice of a dialect stands for. */
  #dialects() {
    const { dialect, reply, toolglot } = this.#store;
    if (dialect !== "detect") return [dialect];
    const found = toolglot.detect(reply, this.#declared()).find(({ chosen }) => chosen);
    if (found === undefined) say(this.#detected, "detected nothing");
    else say(this.#detected, "detected", found.dialect);
    return found === undefined || found.inDefaultSet ? ["default"] : ["default", found.dialect];
  }

  #declared() {
    const tools = declared(this.#store.offered);
    return tools.length > 0 ? { tools } : {};
  }

  #begin() {
    const { toolglot, reply, chunk, finish } = this.#store;
    const bytes = encoder.encode(reply);
    this.#reset();
    const chosen = this.#dialects();
    try {
      this.#engine = this.#made(toolglot, chosen);
    } catch (error) {
      this.#note.textContent = error.message;
      return false;
    }
    this.used = { bytes, chunk, dialects: chosen, tools: declared(this.#store.offered), finish };
    this.#source.set(reply, bytes);
    this.#text.parentNode.hidden = true;
    this.#source.node.hidden = false;
    this.#edit.disabled = false;
    this.#hint.hidden = true;
    this.#player = new Player({ engine: this.#engine, bytes, chunk, finish, told: (what) => this.#told(what) });
    return true;
  }

  #made(toolglot, chosen) {
    const options = { dialects: chosen, ...this.#declared() };
    try {
      return new toolglot.Engine(options);
    } catch (error) {
      // The detected dialect may not go together with the default set.
      if (error.code !== "dialect" || chosen.length === 1) throw error;
      chosen.shift();
      return new toolglot.Engine({ ...options, dialects: chosen });
    }
  }

  #toggle() {
    if (this.#player === null || this.#player.ended) {
      if (!this.#begin()) return;
    } else if (this.#player.playing) {
      this.#player.pause();
      say(this.#play, "play");
      return;
    }
    say(this.#play, "pause");
    this.#player.play(this.#store.delay);
  }

  #next() {
    if (this.#player === null && !this.#begin()) return;
    this.#player.pause();
    say(this.#play, "play");
    this.#player.step();
  }

  #told({ events, deltas, ended = false }) {
    this.#turn.add(events);
    this.#events.add(this.#log.add(events));
    if (deltas.length > 0) this.#deltas.push(`${deltas.join("\n")}\n`);
    for (const event of events) this.#gather(event);
    this.#soon();
    if (ended) this.#ended();
  }

  #frame = 0;

  /** What depends on the position alone is told once a frame. */
  #soon() {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#player === null) return;
      const { position } = this.#player;
      const { length } = this.used.bytes;
      const state = this.#player.ended ? { held: 0, stage: "normal", inReasoning: false } : this.#player.state;
      say(this.#position, "position", position, length);
      holding(this.#held, state);
      this.#source.mark("unread", position, length);
      this.#source.mark("held", position - state.held, position);
    });
  }

  #gather(event) {
    if (event.type === "block_open") this.#before = this.#closed.length;
    if (event.type === "block_abandoned") this.#closed.length = this.#before;
    if (event.type === "call_open") this.dialect = event.dialect;
    if (event.type === "call_close")
      this.#closed.push({ ...event, argumentsJson: event.argumentsJson ?? "{}", dialect: this.dialect });
  }

  #ended() {
    const { toolglot, reply, finish, offered } = this.#store;
    this.#turn.end();
    const turn = this.#engine.parse(reply, { finish });
    this.#json.textContent = JSON.stringify(turn, null, 2);
    const tools = new toolglot.Tools({ tools: offered });
    const checked = tools.check(turn);
    tools.free();
    this.#observations.show(turn, checked);
    this.#calls.ready(this.#closed, this.#engine);
    this.#save.disabled = false;
    this.#step.disabled = true;
    say(this.#play, "play");
  }

  #record() {
    save("recording.json", `${JSON.stringify(recording({ ...this.used, log: this.#log }), null, 1)}\n`);
  }

  async #share(node) {
    const link = new URL(await pack(this.#store.state), location.href).href;
    await copy(node, link, w);
    history.replaceState(null, "", link);
    if (link.length > LONG) say(this.#note, "share long", link.length);
    else say(this.#note, "share copied");
  }
}
