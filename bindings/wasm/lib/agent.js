// Agents: a model, its tools, and the policy that decides which of its calls are carried out.
//
// The WebAssembly file implements the rules and performs no I/O: it returns instructions and accepts their results. This file carries
// them out. Everything that an iteration over a run starts belongs to it and ends with it.

import { Owned } from "./core.js";
import { Feed, LONGEST, SOURCES, pieces, server } from "./model.js";
import { PRIVATE } from "./stream.js";
import { LANG, Tools, content } from "./tools.js";
import { ToolglotError, flag, kind, known, string, toJson, whole, word, wrong } from "./words.js";

const OPTIONS = [
  "model", "tools", "dialect", "policy", "approve", "system", "name", "apiKey", "request", "source", "patience", "native", "engine",
  "lang", "timeout", "taskTimeout", "maxRounds", "budget", "parallel", "maxConcurrent", "recovered", "references", "grammar", "recall",
];
const SAVED = 0, MESSAGES = 1, RECEIPTS = 2, OUTCOME = 3;
const WAITS = ["model", "calls", "nothing"];
/** The maximum number of queued inputs. */
const WAITING = 64;

/** What a tool returns to continue its work in the background. See agent.d.ts. */
export class Task {
  constructor(id, work) {
    this.id = string("task", id);
    if (work !== undefined && typeof work !== "function") throw wrong(`task ${id}: a function is needed, not ${kind(work)}`);
    this.work = work;
  }
}

export class Agent {
  #own;
  #handle;

  constructor(core, Engine, Own, options) {
    const given = known("options", options, OPTIONS);
    const { model, approve, recall, dialect } = given;
    if (typeof model !== "string" && typeof model !== "function") {
      throw wrong(`model: an address or a function is needed, not ${kind(model)}`);
    }
    for (const [what, one] of Object.entries({ approve, recall })) {
      if (one !== undefined && typeof one !== "function") throw wrong(`${what}: a function is needed, not ${kind(one)}`);
    }
    if (dialect === undefined && !given.engine) throw wrong("dialect: name the model's tool-call format, for example 'hermes'");
    this.tools = given.tools instanceof Tools ? given.tools : new Own(given.tools ?? []);
    const missing = this.tools.names.filter((name) => !this.tools.function(name));
    if (missing.length > 0) throw new ToolglotError("tools", `tools: ${missing.join(", ")}: a tool of an agent needs a function 'run'`);
    const source = given.source ?? (typeof model === "string" ? "openai" : "text");
    word("source", source, ["text", ...SOURCES]);
    const engine = given.engine ?? this.tools.engine(string("dialect", dialect));
    this.model = typeof model === "string" ? server(model, given) : model;
    this.source = source;
    this.approve = approve;
    this.recall = recall;
    this.system = given.system === undefined ? undefined : string("system", given.system);
    const form = {
      dialect: dialect ?? engine.dialects[0],
      tools: JSON.parse(this.tools.manifest()),
      config: {
        timeout: whole("timeout", given.timeout ?? 30_000),
        maxIterations: whole("maxRounds", given.maxRounds ?? 5),
        parallelExecution: flag("parallel", given.parallel ?? false),
      },
      policy: policy(given.policy ?? "confirm"),
      shape: flag("native", given.native ?? false) ? "openai" : "text",
      lang: LANG[word("lang", given.lang ?? "en", LANG)],
      recovered: string("recovered", given.recovered ?? "answer"),
      references: flag("references", given.references ?? false),
      task_timeout: whole("taskTimeout", given.taskTimeout ?? 3_600_000),
      max_concurrent: whole("maxConcurrent", given.maxConcurrent ?? 4),
      budget: budget(given.budget ?? {}),
      grammar: flag("grammar", given.grammar ?? false),
    };
    this.#handle = core.made(core.x.toolglot_agent_new(core.out));
    this.#own = new Owned(this, core, "agent", [["toolglot_agent_free", this.#handle]]);
    const one = engine.handles(PRIVATE);
    core.lend(JSON.stringify(form), (at, len) => {
      const status = core.x.toolglot_agent_read(this.#handle, one.engine, one.options, at, len);
      core.check(status, "toolglot_agent_error", this.#handle);
    });
  }

  core() {
    return this.#own.get();
  }

  /** Makes a run from JSON text and returns its handle. */
  #begin(step, json) {
    const core = this.core();
    return core.lend(json, (at, len) => {
      core.check(core.x[step](this.#handle, at, len, core.out), "toolglot_agent_error", this.#handle);
      return core.u32[core.out >>> 2];
    });
  }

  run(what) {
    const messages = typeof what === "string" ? [{ role: "user", content: what }] : [...what];
    if (this.system !== undefined) messages.unshift({ role: "system", content: this.system });
    return new Run(PRIVATE, this, this.#begin("toolglot_agent_run", toJson("messages", messages)));
  }

  steps(steps) {
    return new Run(PRIVATE, this, this.#begin("toolglot_agent_steps", toJson("steps", [...steps])), { workflow: true });
  }

  resume(saved) {
    const made = this.#begin("toolglot_agent_restore", string("saved", saved));
    return new Run(PRIVATE, this, made, { ...JSON.parse(saved), resumed: true });
  }

  free() {
    this.#own.free();
  }
}

export class Run {
  #own;
  #handle;
  #agent;
  #drive = null;
  #left = [];
  /** Calls that wait for a person, by id. */
  #questions = new Map();
  /** Ids of running tasks, and of the calls that began them. */
  #tasks = new Map();
  #workflow;
  /** Instructions that were taken before the next iteration. */
  #held = [];

  constructor(key, agent, handle, { javascript: calls = [], workflow = false, resumed = false } = {}) {
    if (key !== PRIVATE) throw wrong("Run: use agent.run()");
    this.#agent = agent;
    this.#handle = handle;
    this.#workflow = workflow;
    this.#own = new Owned(this, agent.core(), "run", [["toolglot_run_free", handle]]);
    this.calls = calls;
    // What waits is known at once. An iteration asks about the waiting calls anyway.
    if (resumed) this.#held = this.#drain().filter((one) => one.do !== "confirm");
  }

  #write(what) {
    const core = this.#own.get();
    return core.written((buffer) => core.x.toolglot_run_write(this.#handle, what, buffer));
  }

  #outcome() {
    return JSON.parse(this.#write(OUTCOME)) ?? {};
  }

  get outcome() {
    return this.#outcome().outcome ?? null;
  }

  get text() {
    const { text, message } = this.#outcome();
    return text ?? message ?? "";
  }

  get completed() {
    const { outcome, completed } = this.#outcome();
    return outcome === "answer" || completed === true;
  }

  get messages() {
    return JSON.parse(this.#write(MESSAGES));
  }

  get receipts() {
    return JSON.parse(this.#write(RECEIPTS));
  }

  get waiting() {
    return [...this.#questions.values()];
  }

  get tasks() {
    return [...this.#tasks.keys()];
  }

  save() {
    return JSON.stringify({ ...JSON.parse(this.#write(SAVED)), javascript: this.calls });
  }

  decide(call, decision) {
    const id = typeof call === "string" ? call : call.id;
    const said = decided(decision);
    if (said === null) return;
    this.#tell({ decision: [id, said] });
    this.#questions.delete(id);
    this.#drive?.wake();
  }

  later(task, result) {
    const name = string("task", task);
    const known = this.receipts.some((receipt) => receipt.task === name);
    this.#tell({ later: { id: known ? name : "", name, ...gave(result) } });
    this.#drive?.wake();
  }

  cancel() {
    this.#tell({ cancel: null });
    if (this.#drive) this.#drive.wake();
    else {
      this.#drain();
      this.#held = [];
    }
  }

  #tell(what) {
    const core = this.#own.get();
    core.lend(typeof what === "string" ? what : JSON.stringify(what), (at, len) => {
      core.check(core.x.toolglot_run_tell(this.#handle, at, len), "toolglot_run_error", this.#handle);
    });
  }

  #model(chunk) {
    const core = this.#own.get();
    core.lend(chunk, (at, len) => core.check(core.x.toolglot_run_model(this.#handle, at, len), "toolglot_run_error", this.#handle));
  }

  /** What the run waits for, its time, and its next deadline. */
  #waits() {
    const core = this.#own.get();
    const at = core.out;
    core.check(core.x.toolglot_run_waits(this.#handle, at, at + 8, at + 16), "toolglot_run_error", this.#handle);
    const deadline = core.offset(at + 16);
    return {
      what: WAITS[core.u32[at >>> 2]],
      now: core.offset(at + 8),
      deadline: deadline > Number.MAX_SAFE_INTEGER ? null : deadline,
    };
  }

  /** Returns all pending instructions, and records what they change about calls. */
  #drain() {
    const core = this.#own.get();
    const all = [];
    for (;;) {
      core.check(core.x.toolglot_run_take(this.#handle, core.out), "toolglot_run_error", this.#handle);
      const text = core.view(core.out);
      if (text === "") return all;
      const one = JSON.parse(text);
      this.#note(one);
      all.push(one);
    }
  }

  #call(id) {
    return this.calls.findLast((call) => call.id === id);
  }

  #note(one) {
    const what = one.do === "event" ? one.event : one.do;
    let call = this.#call(one.id);
    if (!call && (what === "stands" || what === "start")) {
      call = { id: one.id, name: one.name, arguments: parsed(one.arguments), state: "stands", result: null, duration: null };
      this.calls.push(call);
    }
    if (what === "confirm") {
      const { id, name, tool, digest, reason } = one;
      const shown = { id, name, tool, arguments: JSON.parse(one.arguments), argumentsJson: one.arguments, digest, reason };
      this.#questions.set(id, shown);
    }
    if ((what === "begun" || what === "recall") && one.task) this.#tasks.set(one.task, one.id);
    if (what === "later") this.#tasks.delete(one.id);
    if (!call) return;
    if (what === "start") call.arguments = JSON.parse(one.arguments);
    if (what === "waiting" || what === "running") call.state = what;
    if (what === "settled") {
      call.state = one.state;
      call.result = result(one.result);
      call.duration = one.result.duration_ms ?? null;
      this.#questions.delete(call.id);
      // A step of a workflow waits for its task.
      if (this.#workflow) this.#tasks.forEach((by, task) => by === call.id && this.#tasks.delete(task));
    }
  }

  async *[Symbol.asyncIterator]() {
    if (this.#drive) throw new ToolglotError("state", "the run is already being iterated");
    const drive = new Drive(this.#agent, {
      call: (id) => this.#call(this.#tasks.get(id) ?? id),
      drain: () => [...this.#held.splice(0), ...this.#drain()],
      left: this.#left,
      model: (chunk) => this.#model(chunk),
      questions: this.#questions,
      tell: (what) => this.#tell(what),
      waits: () => this.#waits(),
    });
    this.#drive = drive;
    this.#left = [];
    try {
      yield* drive.events();
    } finally {
      this.#left = drive.close();
      this.#drive = null;
    }
  }

  async done(onEvent) {
    for await (const event of this) await onEvent?.(event);
    return this;
  }

  free() {
    this.#own.free();
  }
}

/** One iteration over a run. Owns everything that it starts. */
class Drive {
  #agent;
  #run;
  /** Running work, by kind and id. */
  #tasks = new Map();
  #inbox = [];
  #arrived = null;
  #room = [];
  #clock;

  constructor(agent, run) {
    this.#agent = agent;
    this.#run = run;
    this.#clock = { began: performance.now(), then: run.waits().now };
  }

  #now() {
    return this.#clock.then + Math.floor(performance.now() - this.#clock.began);
  }

  wake() {
    this.#arrived?.();
  }

  async *events() {
    const run = this.#run;
    for (const call of run.questions.values()) this.#person(call);
    // Started by an iteration that was left: their results are unknown.
    for (const id of run.left) this.#lost(id);
    for (let first = true; ; first = false) {
      yield* this.#act();
      const { what } = run.waits();
      if (what === "nothing") {
        // The consumer of the last event may have cancelled the run.
        yield* this.#act();
        return;
      }
      if (first && what === "model" && !this.#tasks.has("reply ")) {
        // The rest of the reply is lost.
        this.#again();
        continue;
      }
      if (this.#tasks.size === 0 && this.#inbox.length === 0) return;
      await this.#next();
    }
  }

  #lost(id) {
    this.#told({ lost: id });
  }

  /** Passes an input that may come too late; then nothing changes. */
  #told(what) {
    try {
      this.#run.tell(what);
    } catch (error) {
      if (error.code !== "state") throw error;
    }
  }

  #again() {
    try {
      this.#run.tell({ ask_again: null });
    } catch (error) {
      if (error.code !== "state") throw error;
      // Calls of the reply are already committed.
      this.#run.tell({ ended: "error" });
    }
  }

  /** Takes all instructions, starts their work, and returns the events. */
  #act() {
    const events = [];
    const lost = [];
    for (const one of this.#run.drain()) {
      switch (one.do) {
        case "event":
          events.push(this.#event(one));
          break;
        case "ask":
          this.#stop("reply", "");
          this.#begin("reply", "", (task) => this.#ask(one, task));
          break;
        case "confirm":
          this.#person(this.#run.questions.get(one.id));
          break;
        case "start":
          this.#begin("call", one.id, (task) => this.#carry(one, task));
          break;
        case "abort":
          this.#stop("call", one.call);
          break;
        case "recall":
          if (this.#agent.recall) this.#begin("call", runs(one), (task) => this.#recall(one, task));
          else lost.push(runs(one));
          break;
        default:
      }
    }
    for (const id of lost) this.#lost(id);
    return lost.length > 0 ? [...events, ...this.#act()] : events;
  }

  #event(one) {
    const { event: type, id, text, state, message, task } = one;
    const name = type === "later" ? one.result.name : one.name;
    const made = { type };
    if (id !== undefined) Object.assign(made, { id, name: name ?? this.#run.call(id)?.name ?? "" });
    else if (name !== undefined) made.name = name;
    if (text !== undefined) made.text = text;
    if (one.arguments !== undefined) made.arguments = parsed(one.arguments);
    if (state !== undefined) Object.assign(made, { state, result: result(one.result) });
    if (one.result?.duration_ms !== undefined) made.duration = one.result.duration_ms;
    if (message !== undefined) made.message = message;
    if (task !== undefined) made.task = task;
    return made;
  }

  #begin(kind, id, work) {
    const task = { kind, id, controller: new AbortController() };
    this.#tasks.set(`${kind} ${id}`, task);
    const over = async (step) => {
      try {
        await step;
      } catch (error) {
        await this.#put({ task, error });
      }
      await this.#put({ task, over: true });
    };
    // Turns a synchronous throw into a rejection.
    void over((async () => work(task))());
  }

  #stop(kind, id) {
    const key = `${kind} ${id}`;
    const task = this.#tasks.get(key);
    this.#tasks.delete(key);
    task?.controller.abort(new ToolglotError("state", "the result is no longer needed"));
  }

  /** Stops everything that was started. Returns the calls whose result is unknown. */
  close() {
    const left = [...this.#tasks.values()].filter((task) => task.kind === "call").map((task) => task.id);
    for (const { kind, id } of [...this.#tasks.values()]) this.#stop(kind, id);
    for (const go of this.#room.splice(0)) go();
    return left;
  }

  #current(task) {
    return this.#tasks.get(`${task.kind} ${task.id}`) === task;
  }

  /** Queues an input. Waits while the queue is full, so that a fast model waits for a slow host. */
  async #put(item) {
    while (this.#inbox.length >= WAITING && this.#current(item.task)) await new Promise((go) => this.#room.push(go));
    if (!this.#current(item.task)) return;
    this.#inbox.push(item);
    this.wake();
  }

  /** Waits for the next input and passes it to the run. */
  async #next() {
    const run = this.#run;
    const { deadline } = run.waits();
    if (this.#inbox.length === 0) {
      await new Promise((go) => {
        const wait = deadline === null ? null : Math.min(LONGEST, Math.max(0, deadline - this.#now()));
        const timer = wait === null ? null : setTimeout(go, wait);
        this.#arrived = () => {
          clearTimeout(timer);
          go();
        };
      });
      this.#arrived = null;
    }
    if (this.#now() > run.waits().now) run.tell({ tick: this.#now() });
    const item = this.#inbox.shift();
    this.#room.shift()?.();
    if (item === undefined || !this.#current(item.task)) return;
    const { task, error, over, chunk, told, begun } = item;
    if ("error" in item) throw error;
    if (over) {
      this.#tasks.delete(`${task.kind} ${task.id}`);
    } else if (begun) {
      this.#goOn(task.id, item.name, begun);
    } else if (task.kind !== "reply" || run.waits().what === "model") {
      if (chunk !== undefined) run.model(chunk);
      else this.#told(told);
      if (task.kind === "person") run.questions.delete(task.id);
    }
  }

  // Model.

  async #ask({ messages, tools = [], stop, grammar = null }, task) {
    const { signal } = task.controller;
    const feed = new Feed(this.#agent);
    const put = async (list) => {
      for (const item of list) await this.#put({ task, ...item });
    };
    const reply = await this.#agent.model(messages, { tools, stop, grammar, signal });
    try {
      for await (const item of pieces(reply)) {
        await put(feed.feed(item));
        if (!this.#current(task)) return;
      }
      await put(feed.finish());
    } finally {
      feed.free();
    }
  }

  // People.

  #person(call) {
    if (!this.#agent.approve) return;
    this.#begin("person", call.id, async (task) => {
      const said = decided(await this.#agent.approve(call));
      if (said !== null) await this.#put({ task, told: { decision: [call.id, said] } });
    });
  }

  // Tools.

  async #carry({ id, name, tool, arguments: given }, task) {
    const run = this.#agent.tools.function(tool);
    await this.#settle(name, task, () => run(JSON.parse(given), this.#context(id, task)));
  }

  /** The context of a running tool or task. */
  #context(id, task) {
    return {
      id,
      signal: task.controller.signal,
      progress: (text) => void this.#put({ task, told: { progress: [id, String(text)] } }),
    };
  }

  /** Continues a call as a task. */
  #goOn(id, name, { id: own, work }) {
    try {
      this.#run.tell({ begun: [id, own] });
    } catch (error) {
      if (error.code !== "state") throw error;
      this.#told({ done: { id, name, status: "error", content: error.message } });
      return;
    }
    if (work) this.#work(name, own, work);
  }

  #work(name, id, work) {
    this.#begin("call", id, (task) => this.#settle(name, task, () => work(this.#context(id, task)), "later"));
  }

  async #recall(receipt, task) {
    const { id, tool, digest, task: own } = receipt;
    const found = await this.#agent.recall({ id, tool, digest, ...(own && { task: own }) });
    if (found === undefined || found === null) await this.#put({ task, told: { lost: task.id } });
    else if (!own || !(found instanceof Task)) await this.#settle(tool, task, () => found, own ? "later" : "done");
    else if (found.id !== own) throw wrong(`recall: the task is '${own}', not '${found.id}'`);
    else if (found.work) await this.#settle(tool, task, () => found.work(this.#context(own, task)), "later");
  }

  /** Runs a call or a task and passes its result to the run. */
  async #settle(name, task, work, how = "done") {
    const began = performance.now();
    const { id } = task;
    let made;
    try {
      const value = await work();
      if (value instanceof Task) {
        if (how === "done") return void await this.#put({ task, begun: value, name });
        throw new TypeError("a task cannot continue as another task");
      }
      made = gave(iterates(value) ? await this.#pieces(id, value, task) : value);
    } catch (error) {
      made = failed(error);
    }
    const duration_ms = Math.floor(performance.now() - began);
    await this.#put({ task, told: { [how]: { id, name, ...made, duration_ms } } });
  }

  /** Reports the values of a generator as progress. Returns their joined text. */
  async #pieces(id, value, task) {
    let all = "";
    for await (const piece of value) {
      all += String(piece);
      await this.#put({ task, told: { progress: [id, String(piece)] } });
      if (!this.#current(task)) break;
    }
    return all;
  }
}

function iterates(value) {
  const made = value?.[Symbol.toStringTag];
  return made === "AsyncGenerator" || made === "Generator";
}

function policy(given) {
  const verdicts = ["deny", "confirm", "allow"];
  if (typeof given === "string") {
    word("policy", given, verdicts);
    return { [given]: [{}] };
  }
  const rules = {};
  for (const [verdict, found] of Object.entries(known("policy", given, verdicts))) {
    const list = Array.isArray(found) ? found : [found];
    rules[verdict] = list.map((one) => (typeof one === "string" ? { tools: [one] } : one));
  }
  return rules;
}

/** The limits of a run. */
function budget(given) {
  const limits = Object.entries(known("budget", given, ["calls", "bytes", "time"])).filter(([, limit]) => limit !== undefined);
  return Object.fromEntries(limits.map(([name, limit]) => [name, whole(`budget.${name}`, limit)]));
}

function decided(said) {
  if (said === undefined || said === null) return null;
  if (typeof said === "boolean") return said ? "approve" : { deny: "" };
  if (typeof said === "string") return { deny: said };
  if (typeof said === "object" && !Array.isArray(said)) return { edit: toJson("decision", said) };
  throw wrong(`a decision is true, false, a reason for refusing, arguments or null, not ${kind(said)}`);
}

/** The members of a result for a tool's return value; an error is a failure with its message. */
function gave(value) {
  return value instanceof Error ? failed(value) : { status: "success", content: content(value) };
}

function failed(error) {
  return { status: "error", content: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
}

/** The id of running work: that of the task, else that of the call. */
function runs({ id, task }) {
  return task ?? id;
}

function result({ content: parts }) {
  const json = Array.isArray(parts) && parts.length === 1 && parts[0].type === "json";
  return json ? parts[0].json : parts;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
