// Converts event structs to objects. Strings and bytes are copies: no view of the memory gets out.

/** Size of `toolglot_event` in bytes. */
const EVENT = 48;
const NO_CALL = 0xffffffff;
export const FLAG = {
  recoveredText: 1, framing: 2, native: 4, complete: 8, recovered: 16, paramsOnly: 32, asText: 64, error: 128, repaired: 256, provisional: 512, asReasoning: 1024,
};
/** The event type of an issue. */
export const ISSUE = 16;

/** What the flags and kinds of a call mean: its grade and related members. */
export function graded(flags, kinds) {
  const grade = flags & FLAG.recovered ? "recovered" : flags & FLAG.repaired ? "repaired" : "complete";
  return { grade, kinds, recovered: grade === "recovered" ? kinds : null, complete: grade === "complete" };
}

/** Adds `arguments`, parsed on first access. */
export function withArguments(object, json) {
  let value;
  const get = () => (json === null ? null : (value ??= JSON.parse(json)));
  return Object.defineProperty(object, "arguments", { get, enumerable: true });
}

/** Makes events; remembers about the open call what its end needs. */
export class Maker {
  constructor(keep, open = null) {
    /** Whether arguments are kept until their call closes. */
    this.keep = keep;
    this.open = open;
  }

  /** Makes the events of a batch; `only` restricts them to one type. */
  read(core, first, count, events, only) {
    const field = (at, place) => core.u32[at + place];
    for (let i = 0; i < count; i++) {
      const at = first + (i * EVENT) / 4;
      const kind = field(at, 0);
      if (only !== undefined && kind !== only) continue;
      let details = 0;
      while (i + details + 1 < count && field(at + ((details + 1) * EVENT) / 4, 0) === 7) details++;
      const pairs = [];
      for (let d = 1; d <= details; d++) {
        const place = (at + (d * EVENT) / 4) * 4;
        pairs.push([core.view(place + 24), core.view(place + 16)]);
      }
      i += details;
      const event = this.event(core, at, kind, pairs);
      if (event !== null) events.push(event);
    }
  }

  /** Makes the event at an address, given in words of 4 bytes; `pairs` are its details. */
  event(core, at, kind, pairs) {
    const u32 = core.u32;
    const flags = u32[at + 1];
    const call = u32[at + 2];
    const [data, len] = [u32[at + 4], u32[at + 5]];
    const start = core.offset((at + 8) * 4);
    const end = core.offset((at + 10) * 4);
    const text = () => core.text(data, len);
    const aux = () => core.view((at + 6) * 4);
    switch (kind) {
      case 1: return { type: "text", text: text(), start, end, recovered: (flags & FLAG.recoveredText) !== 0 };
      case 2: return { type: "reasoning", text: text(), start, end, framing: (flags & FLAG.framing) !== 0 };
      case 3: return { type: "protected", text: text(), kind: aux(), start, end };
      case 4: return { type: "raw", data: core.bytes(data, len), start, end };
      case 5: return { type: "block_open", dialect: aux(), start, end };
      case 6: {
        const name = text();
        this.open = { name, json: "" };
        const native = (flags & FLAG.native) !== 0;
        return { type: "call_open", call, name, dialect: aux(), meta: Object.fromEntries(pairs), native, start, end };
      }
      case 8: {
        const json = text();
        if (this.keep && this.open) this.open.json += json;
        return { type: "arg_delta", call, json, start, end };
      }
      case 9: return { type: "param_open", name: text(), depth: u32[at + 3], start, end };
      case 10: return { type: "param_delta", data: core.bytes(data, len), start, end };
      case 11: return { type: "param_close", start, end };
      case 12: {
        this.open = null;
        return { type: "call_abandoned", call, start, end };
      }
      case 13: return this.close(core, call, flags, core.issues(data, len), start, end);
      case 14: return { type: "block_close", start, end, raw: core.bytes(data, len) };
      case 15: {
        this.open = null;
        const becomes = flags & FLAG.asText ? "text" : flags & FLAG.asReasoning ? "reasoning" : "drop";
        return { type: "block_abandoned", becomes, start, end, raw: core.bytes(data, len) };
      }
      case 16: {
        const severity = flags & FLAG.error ? "error" : "warning";
        const told = { dialect: "", tool: "", subject: "", suggestion: "", ...Object.fromEntries(pairs) };
        const issue = core.issue(u32[at + 3]);
        const concerned = call === NO_CALL ? null : call;
        return { type: "issue", kind: issue, severity, message: text(), start, end, call: concerned, ...told, observation: aux() };
      }
      case 17: {
        const provisional = (flags & FLAG.provisional) !== 0;
        return { type: "call_named", block: call, ordinal: u32[at + 3], name: text(), provisional, start, end };
      }
      // An event of a newer engine.
      default: return null;
    }
  }

  close(core, call, flags, kinds, start, end) {
    const { name, json: deltas } = this.open ?? { name: "", json: "" };
    this.open = null;
    const paramsOnly = (flags & FLAG.paramsOnly) !== 0;
    // A call that was delivered only as parameters, without arguments, counts as recovered.
    const told = graded(paramsOnly ? FLAG.recovered : flags, kinds);
    let json = this.keep && !paramsOnly ? deltas : null;
    if (json !== null && (kinds.includes("duplicate_param") || kinds.includes("repeated_param"))) json = lastWins(core, json);
    return withArguments({
      type: "call_close", call, name, argumentsJson: json, ...told, start, end,
    }, json);
  }
}

/** The canonical text of arguments that repeat a key. */
function lastWins(core, json) {
  // The batch being read must not move: neither it nor `out` is touched here.
  const { x } = core;
  const buffer = core.buffer;
  return core.lend(json, (at, len) => {
    core.check(x.toolglot_wasm_last_wins(at, len, buffer), "toolglot_buffer_error", buffer);
    x.toolglot_buffer_view(core.out + 32, buffer);
    return core.view(core.out + 32);
  });
}
