// A middleware for models of the AI SDK. It implements the interface and imports nothing. The prompt declares the tools to a model
// without tool support, and the calls in its text become tool calls.
//
// Invariant: a call is delivered when its block has closed, so that no call has to be retracted. Text is delivered at once.

import { Calls } from "./calls.js";
import { flag, known, string, word, wrong } from "./words.js";

const OPTIONS = ["dialect", "engine", "lang", "recovered", "id"];
/** The key under which a rewritten request keeps its tools in `providerOptions`. */
const OWN = "toolglot";
const FINISH = { length: "length", error: "error", interrupted: "error", "content-filter": "stop" };

const ids = () => `call_${Math.random().toString(36).slice(2)}${Date.now().toString(36)}`;

export function middleware(Engine, Own, options) {
  const given = known("options", options, OPTIONS);
  const dialect = string("dialect", given.dialect ?? given.engine?.dialects[0]);
  const lang = given.lang ?? "en";
  word("lang", lang, ["en", "zh"]);
  const recovered = flag("recovered", given.recovered ?? false);
  const id = given.id ?? ids;
  if (typeof id !== "function") throw wrong("id: a function that returns ids is needed");
  const plain = given.engine ?? new Engine(dialect);
  let last = { key: "[]", tools: new Own(), engine: plain };

  /** The declared tools of a request, and their engine. Caches the last, since a conversation repeats its tools. */
  const offered = (list) => {
    const key = JSON.stringify(list);
    if (last.key !== key) last = { key, tools: new Own(list), engine: given.engine ?? new Engine({ dialects: dialect, tools: list }) };
    return last;
  };
  const reading = (params) => {
    return new Reading(offered(params?.providerOptions?.[OWN]?.tools ?? []), { dialect, recovered, id });
  };

  return {
    specificationVersion: "v3",
    middlewareVersion: "v2",

    async transformParams({ params }) {
      const { tools: all = [], toolChoice, ...rest } = params;
      const functions = toolChoice?.type === "none" ? [] : all.filter(({ type }) => type === "function");
      const list = functions.map(({ name, description, inputSchema }) => (
        { type: "function", function: { name, description: description ?? "", parameters: inputSchema ?? { type: "object" } } }
      ));
      const others = all.filter(({ type }) => type !== "function");
      const { tools, engine } = offered(list);
      const told = { ...rest, prompt: taught(rest.prompt, { tools, engine, list, dialect, lang }) };
      told.providerOptions = { ...rest.providerOptions, [OWN]: { tools: list } };
      if (others.length > 0) Object.assign(told, { tools: others, ...(toolChoice?.type === "auto" && { toolChoice }) });
      return told;
    },

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const read = reading(params);
      const ended = FINISH[unified(result.finishReason)] ?? "stop";
      const content = result.content.flatMap((part) => (part.type === "text" ? read.whole(part, ended) : [part]));
      return { ...result, content, finishReason: read.reason(result.finishReason) };
    },

    async wrapStream({ doStream, params }) {
      const { stream, ...rest } = await doStream();
      const read = reading(params);
      return {
        ...rest,
        stream: stream.pipeThrough(new TransformStream({
          transform(part, controller) {
            for (const one of read.part(part)) controller.enqueue(one);
          },
          flush(controller) {
            for (const one of read.finish("stop")) controller.enqueue(one);
          },
        })),
      };
    },
  };
}

/** Rewrites the prompt for a model without tool support. */
function taught(prompt, { tools, engine, list, dialect, lang }) {
  const names = new Map();
  const out = [];
  for (const message of prompt) {
    if (message.role === "assistant") {
      const parts = message.content.filter(({ type }) => type !== "tool-call");
      const calls = message.content.filter(({ type }) => type === "tool-call");
      for (const { toolCallId, toolName } of calls) names.set(toolCallId, toolName);
      if (calls.length > 0) {
        const written = calls.map(({ toolName, input }) => ({ name: toolName, arguments: input ?? {} }));
        parts.push({ type: "text", text: engine.encode(written, dialect) });
      }
      out.push({ ...message, content: parts });
    } else if (message.role === "tool") {
      const results = message.content.filter(({ type }) => type === "tool-result").map((part) => ({
        id: part.toolCallId, name: part.toolName ?? names.get(part.toolCallId) ?? "", ...outcome(part.output),
      }));
      if (results.length === 0) continue;
      const { content } = tools.results(results, dialect, { engine, lang });
      out.push({ role: "user", content: [{ type: "text", text: content }] });
    } else {
      out.push(message);
    }
  }
  if (list.length > 0) {
    const text = tools.prompt(dialect, { engine, lang });
    const [first] = out;
    if (first?.role === "system") out[0] = { ...first, content: `${first.content}\n\n${text}` };
    else out.unshift({ role: "system", content: text });
  }
  return out;
}

/** The output of a tool, as results hold it. */
function outcome({ type, value, reason } = {}) {
  switch (type) {
    case "error-text": return { status: "error", content: value };
    case "error-json": return { status: "error", content: JSON.stringify(value) };
    case "execution-denied": return { status: "denied", content: reason ?? "" };
    case "content": return { content: value.map((part) => part.text ?? `[${part.type}]`).join("\n") };
    default: return { content: value };
  }
}

/** The finish reason as a word; since version 3 it is an object. */
function unified(reason) {
  return typeof reason === "object" && reason !== null ? reason.unified : reason;
}

/** Converts one reply. */
class Reading {
  #offered;
  #options;
  #calls = 0;
  /** The parser of the current input block, the block, and the number of output blocks made from it. */
  #stream = null;
  #block;
  #blocks;
  /** The open output block of text or reasoning. */
  #open = null;
  /** The calls of the input block, and how many of them were delivered. */
  #gathered;
  #delivered;

  constructor(offered, options) {
    this.#offered = offered;
    this.#options = options;
  }

  #begin(block) {
    const { engine, tools } = this.#offered;
    this.#stream = engine.stream(tools.names.length > 0 ? { tools: tools.definitions } : undefined);
    this.#block = block;
    this.#blocks = 0;
    this.#gathered = new Calls();
    this.#delivered = 0;
  }

  /** Converts a part of a stream. */
  part(part) {
    switch (part.type) {
      case "text-start": {
        const before = this.finish("stop");
        this.#begin(part);
        return before;
      }
      case "text-delta":
        if (!this.#stream) this.#begin(part);
        return this.#made(this.#stream.feed(part.delta));
      // The finish part tells whether the reply was truncated.
      case "text-end": return [];
      case "tool-call": case "reasoning-start": return [...this.finish("stop"), part];
      case "error": return [...this.finish("error"), part];
      case "finish": {
        const before = this.finish(FINISH[unified(part.finishReason)] ?? "stop");
        return [...before, { ...part, finishReason: this.reason(part.finishReason) }];
      }
      default: return [part];
    }
  }

  /** Ends the text. */
  finish(reason) {
    if (!this.#stream) return [];
    const made = [...this.#made(this.#stream.finish(reason)), ...this.#close()];
    this.#stream.free();
    this.#stream = null;
    return made;
  }

  /** Converts the text of a whole reply. */
  whole({ text, ...rest }, reason) {
    this.#begin({ ...rest, id: "" });
    const parts = [];
    for (const { type, delta, ...more } of [...this.#made(this.#stream.feed(text)), ...this.finish(reason)]) {
      if (type === "text-start" || type === "reasoning-start") parts.push({ ...rest, type: type.slice(0, -6), text: "" });
      else if (type === "text-delta" || type === "reasoning-delta") parts[parts.length - 1].text += delta;
      else if (type === "tool-call") parts.push({ type, ...more });
    }
    return parts;
  }

  reason(given) {
    // What failed or broke off stays so, whatever calls came before.
    if (this.#calls === 0 || FINISH[unified(given)] === "error") return given;
    return typeof given === "object" && given !== null ? { ...given, unified: "tool-calls" } : "tool-calls";
  }

  #made(events) {
    const out = [];
    for (const event of events) {
      this.#gathered.add([event]);
      switch (event.type) {
        case "text": out.push(...this.#write("text", event.text)); break;
        case "reasoning":
          if (!event.framing) out.push(...this.#write("reasoning", event.text));
          break;
        case "block_close": {
          const { closed } = this.#gathered;
          for (const call of closed.slice(this.#delivered)) if (this.#options.recovered || !call.recovered) out.push(...this.#call(call));
          this.#delivered = closed.length;
          break;
        }
        default:
      }
    }
    return out;
  }

  #write(type, text) {
    const out = [];
    if (this.#open?.type !== type) {
      out.push(...this.#close());
      const { id } = this.#block;
      this.#open = { type, id: this.#blocks === 0 ? id : `${id}-${this.#blocks}` };
      this.#blocks += 1;
      out.push({ type: `${type}-start`, id: this.#open.id });
    }
    out.push({ type: `${type}-delta`, id: this.#open.id, delta: text });
    return out;
  }

  #close() {
    const open = this.#open;
    this.#open = null;
    return open ? [{ type: `${open.type}-end`, id: open.id }] : [];
  }

  #call({ name: said, argumentsJson: input }) {
    this.#calls += 1;
    const id = this.#options.id();
    // A dialect may spell names differently.
    const name = this.#offered.tools.check({ name: said, arguments: input }, { dialect: this.#options.dialect }).tool ?? said;
    return [
      ...this.#close(),
      { type: "tool-input-start", id, toolName: name },
      { type: "tool-input-delta", id, delta: input },
      { type: "tool-input-end", id },
      { type: "tool-call", toolCallId: id, toolName: name, input },
    ];
  }
}
