// Runs without a server: an agent of the WASM package in this page, with a scripted model. It has the methods of `Server`, and gives
// the same events.
import { finished } from "./backend.js";
import { execute } from "./execute.js";
import { w } from "./ui.js";

/** The lines that separate replies of a script. */
const SEPARATOR = /^---[ \t]*$/m;
/** Events of a reply. */
const REPLY = new Set(["text", "reasoning", "named"]);
/** Milliseconds between pieces of a reply, and characters of a piece. */
const PAUSE = 25;
const PIECE = 6;

export class Offline {
  #store;
  #runs = [];

  constructor(store) {
    this.#store = store;
  }

  async runs() {
    return this.#runs.map((run) => run.entry).reverse();
  }

  async run(id) {
    const run = this.#find(id);
    const waiting = run.run.waiting.map(({ id: call, name, argumentsJson, digest, reason }) => ({
      call,
      name,
      arguments: argumentsJson,
      digest,
      reason,
    }));
    return { ...run.entry, messages: run.run.messages, waiting };
  }

  async start({ task, dialect = "hermes", tools }) {
    const { toolglot, offered, config, rules, script, lang } = this.#store;
    const wanted = offered.filter(({ id }) => tools === undefined || tools.includes(id));
    const replies = script.split(SEPARATOR).map((text) => text.replace(/^\n|\n$/g, ""));
    const run = { events: [], news: new EventTarget(), driving: false, asked: false };
    const agent = new toolglot.Agent({
      model: (messages, { signal }) => {
        run.asked = true;
        return slowly(replies[messages.filter(({ role }) => role === "assistant").length] ?? "", signal);
      },
      tools: wanted.map((tool) => this.#tool(tool)),
      dialect,
      // Where calls are switched off, their markers are text.
      ...(!config.enabled && { engine: new toolglot.Engine({ dialects: dialect, toolChoice: "none" }) }),
      lang,
      policy: policy(wanted, rules, config),
      timeout: config.timeout,
      maxRounds: config.maxIterations,
      parallel: config.parallelExecution,
      recovered: "confirm",
    });
    const entry = { id: `page-${this.#runs.length + 1}`, task, state: "running", started: new Date().toISOString() };
    Object.assign(run, { entry, agent, run: agent.run(task) });
    this.#runs.push(run);
    void this.#drive(run);
    return entry.id;
  }

  /** A tool of the store as an agent takes it: what carries it out is the person's function. */
  #tool({ id, description, parameters, tags }) {
    const run = async (given, { signal }) => {
      // The agent has the time limit, and aborts.
      const { state, result } = await execute(this.#store.functions, id, given, { signal, w });
      if (state === "done") return result;
      throw new Error(result);
    };
    return { name: id, description, ...(parameters && { parameters }), ...(tags && { tags }), run };
  }

  async decide(id, { call, digest, decision, arguments: edited, reason = "" }) {
    const { run } = this.#find(id);
    const asked = run.waiting.find((one) => one.id === call);
    if (asked === undefined || asked.digest !== digest) throw new Error("the call does not wait with these arguments");
    run.decide(call, decision === "approve" ? (edited ?? true) : reason);
    void this.#drive(this.#find(id));
  }

  async cancel(id) {
    const run = this.#find(id);
    run.run.cancel();
    void this.#drive(run);
  }

  async delete(id) {
    this.#runs = this.#runs.filter((run) => run !== this.#find(id));
  }

  async *events(id, { after = 0, signal }) {
    const run = this.#find(id);
    for (let at = after; ; at += 1) {
      while (at >= run.events.length) {
        await new Promise((go) => {
          run.news.addEventListener("event", go, { once: true });
          signal.addEventListener("abort", go, { once: true });
        });
        if (signal.aborted) return;
      }
      yield run.events[at];
      if (finished(run.events[at])) return;
    }
  }

  #find(id) {
    const found = this.#runs.find((run) => run.entry.id === id);
    if (found === undefined) throw new Error(`there is no run ${id}`);
    return found;
  }

  #put(run, event) {
    run.events.push({ ...event, n: run.events.length + 1 });
    run.news.dispatchEvent(new Event("event"));
  }

  /** Drives a run until it waits for a person, or is over. */
  async #drive(run) {
    if (run.driving || run.entry.state === "finished") return;
    run.driving = true;
    run.entry.state = "running";
    try {
      for await (const event of run.run) this.#event(run, event);
    } catch (error) {
      this.#over(run, { outcome: "model_failed", text: error.message });
    }
    run.driving = false;
    if (run.run.waiting.length > 0) run.entry.state = "waiting";
    if (run.run.outcome !== null && run.entry.state !== "finished")
      this.#over(run, { outcome: run.run.outcome, text: run.run.text });
  }

  /** Keeps an event, with the instructions that a server shows beside it. */
  #event(run, { type, ...rest }) {
    const { waiting, calls } = run.run;
    run.entry.state = waiting.length > 0 ? "waiting" : "running";
    if (REPLY.has(type)) this.#begin(run);
    if (type === "waiting") {
      const { argumentsJson, ...asked } = waiting.find(({ id }) => id === rest.id) ?? {};
      if (argumentsJson !== undefined) this.#put(run, { do: "confirm", ...asked, arguments: argumentsJson });
    }
    if (type === "running")
      this.#put(run, {
        do: "start",
        id: rest.id,
        name: rest.name,
        arguments: JSON.stringify(calls.findLast(({ id }) => id === rest.id)?.arguments),
      });
    this.#put(run, { event: type, ...rest });
  }

  /** A reply begins. The model is asked before the events are taken that led to it. */
  #begin(run) {
    if (run.asked) this.#put(run, { do: "ask" });
    run.asked = false;
  }

  #over(run, outcome) {
    this.#begin(run);
    Object.assign(run.entry, { state: "finished", outcome });
    this.#put(run, outcome);
  }
}

/** Pieces of a reply, with a pause before each, so that one can watch it being written. */
async function* slowly(text, signal) {
  for (let at = 0; at < text.length && !signal.aborted; at += PIECE) {
    await new Promise((go) => setTimeout(go, PAUSE));
    yield text.slice(at, at + PIECE);
  }
}

/** The policy of an agent: the rule of each tool, and confirmation of all where the configuration wants that. */
function policy(tools, rules, { requireConfirmation }) {
  const made = { deny: [], confirm: [], allow: [] };
  for (const { id } of tools) {
    const rule = rules[id] ?? "allow";
    made[rule === "allow" && requireConfirmation ? "confirm" : rule].push(id);
  }
  return Object.fromEntries(Object.entries(made).filter(([, names]) => names.length > 0));
}
