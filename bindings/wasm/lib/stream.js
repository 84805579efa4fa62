// Streams: chunks in, events out. Text comes in whole characters, however chunks are split: the engine holds back incomplete
// UTF-8, and this file the first half of a surrogate pair.

import { Owned, PIECE, SHORT, encoder } from "./core.js";
import { ISSUE, Maker } from "./events.js";
import { pack } from "./snapshot.js";
import { FINISH, Pairs, ToolglotError, bytesOf, jsonList, textOrBytes, word, wrong } from "./words.js";

/** A key that only this package has: streams are made by engines. */
export const PRIVATE = Symbol("private");

const STATE = { reasoning: 1, marker: 2 };
/** Indexed by the bits of the state that follow these two and the one for the end. */
const STAGES = { 0: "normal", 1: "tag_opening", 2: "tag_content", 4: "tag_closing" };

/** One model output, from its first byte to its end. */
export class Stream {
  #own;
  #core;
  #stream;
  #pairs = new Pairs();
  /** Whether the half that waits was prefilled: then its replacement character is not delivered. */
  #prefilled = false;
  #maker;
  #finished = false;
  /** Collects whole calls, so that only issues are delivered. */
  #turn;

  /** Problems in the tools of the stream's own options. */
  #odd;

  constructor(key, core, stream, keep, head, turn, odd = []) {
    if (key !== PRIVATE) throw wrong("Stream: use engine.stream()");
    this.#core = core;
    this.#stream = stream;
    this.#maker = new Maker(keep, head?.open);
    this.#turn = turn;
    this.#odd = odd;
    if (head) ({ half: this.#pairs.half, prefilled: this.#prefilled, finished: this.#finished } = head);
    this.#own = new Owned(this, core, "stream", [["toolglot_stream_free", stream]]);
  }

  feed(chunk) {
    const core = this.#opened();
    return typeof chunk === "string" ? this.#feedText(core, chunk) : this.#feedBytes(core, bytesOf("chunk", chunk));
  }

  feedSpecial(marker) {
    return this.#said("toolglot_stream_feed_special", textOrBytes("marker", marker));
  }

  prefill(text) {
    return this.#said("toolglot_stream_prefill", textOrBytes("text", text), true);
  }

  nativeCalls(calls) {
    // These calls are not bytes of the text, so half a character keeps waiting.
    return this.#lent("toolglot_stream_native_calls", jsonList("nativeCalls", calls), []);
  }

  finish(reason = "stop") {
    const core = this.#own.get();
    const number = word("reason", reason, FINISH);
    if (this.#finished) return [];
    const events = this.#whole(core);
    this.#done(core.x.toolglot_stream_finish(this.#stream, number, core.out), events);
    this.#finished = true;
    return events;
  }

  reset() {
    const core = this.#own.get();
    core.check(core.x.toolglot_stream_reset(this.#stream), "toolglot_stream_error", this.#stream);
    this.#pairs.half = "";
    this.#maker.open = null;
    this.#finished = false;
  }

  snapshot() {
    const core = this.#own.get();
    const ask = (buffer) => core.x.toolglot_stream_snapshot(this.#stream, buffer);
    const parser = core.written(ask, (at, len) => core.bytes(at, len));
    return pack(this.#head(), parser);
  }

  copy() {
    const core = this.#own.get();
    const head = this.#head();
    const clone = core.made(core.x.toolglot_stream_clone(this.#stream, core.out), "toolglot_stream_error", this.#stream);
    return new Stream(PRIVATE, core, clone, this.#maker.keep, head, undefined, this.#odd);
  }

  /** What this layer knows besides the parser. */
  #head() {
    const open = this.#maker.open && { ...this.#maker.open };
    return { half: this.#pairs.half, prefilled: this.#prefilled, open, finished: this.#finished };
  }

  get toolIssues() {
    this.#own.get();
    return [...this.#odd];
  }

  get inReasoning() {
    return (this.#state() & STATE.reasoning) !== 0;
  }

  get mayHoldMarker() {
    return (this.#state() & STATE.marker) !== 0;
  }

  get stage() {
    return STAGES[this.#state() >>> 3];
  }

  get held() {
    return this.#rest((core) => core.u32[(core.out >>> 2) + 2]);
  }

  get position() {
    return this.#rest((core) => core.offset(core.out + 16));
  }

  get finished() {
    this.#own.get();
    return this.#finished;
  }

  free() {
    this.#own.free();
  }

  #state() {
    const core = this.#own.get();
    core.check(core.x.toolglot_stream_state(this.#stream, core.out), "toolglot_stream_error", this.#stream);
    return core.u32[core.out >>> 2];
  }

  #rest(read) {
    const core = this.#own.get();
    core.check(core.x.toolglot_stream_rest(this.#stream, core.out), "toolglot_stream_error", this.#stream);
    return read(core);
  }

  #opened() {
    const core = this.#own.get();
    if (this.#finished) throw new ToolglotError("state", "the stream is finished; reset() starts it over");
    return core;
  }

  #feedText(core, chunk) {
    const text = this.#pairs.whole(chunk);
    if (chunk !== "") this.#prefilled = false;
    if (text.length <= SHORT) {
      const { u8, piece } = core;
      let i = 0;
      for (; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code >= 0x80) break;
        u8[piece + i] = code;
      }
      if (i === text.length) return this.#step(core, i, [], text);
    }
    const events = [];
    // Half a surrogate pair at the end of a full slice does not fit, so `encodeInto` leaves it.
    for (let at = 0; at < text.length;) {
      const { read, written } = encoder.encodeInto(text.slice(at, at + PIECE), core.room);
      at += read;
      this.#step(core, written, events);
    }
    return events;
  }

  #feedBytes(core, chunk) {
    const events = chunk.length > 0 ? this.#whole(core) : [];
    if (chunk.length <= SHORT) {
      const { u8, piece } = core;
      for (let i = 0; i < chunk.length; i++) u8[piece + i] = chunk[i];
      return this.#step(core, chunk.length, events);
    }
    for (let at = 0; at < chunk.length; at += PIECE) {
      const part = chunk.subarray(at, at + PIECE);
      core.room.set(part);
      this.#step(core, part.length, events);
    }
    return events;
  }

  /** The replacement character for half a surrogate pair that something else follows. */
  #whole(core) {
    const rest = this.#pairs.rest();
    if (rest === "") return [];
    return this.#lent(this.#prefilled ? "toolglot_stream_prefill" : "toolglot_stream_feed", rest, []);
  }

  /** Passes on what is not a chunk of the output. It may complete a surrogate pair, and end with half of one. */
  #said(way, data, prefilled = false) {
    const core = this.#opened();
    if (typeof data !== "string") return this.#lent(way, data, data.length > 0 ? this.#whole(core) : []);
    const first = data.charCodeAt(0);
    const joins = data === "" || (first >= 0xdc00 && first < 0xe000);
    const events = joins ? [] : this.#whole(core);
    if (data !== "") this.#prefilled = prefilled;
    return this.#lent(way, this.#pairs.whole(data), events);
  }

  #lent(way, data, events) {
    const core = this.#opened();
    core.lend(data, (at, len) => this.#done(core.x[way](this.#stream, at, len, core.out), events));
    return events;
  }

  /** Feeds the bytes written to the piece. `text` is their text, if it is ASCII. */
  #step(core, len, events, text) {
    return this.#done(core.x.toolglot_stream_feed(this.#stream, core.piece, len, core.out), events, len, text);
  }

  /** Reads the batch of events of a call. */
  #done(status, events, len, text) {
    const core = this.#core;
    core.check(status, "toolglot_stream_error", this.#stream);
    const at = core.u32[core.out >>> 2] >>> 2;
    const count = core.u32[(core.out >>> 2) + 1];
    // Most chunks are plain text.
    if (count === 1 && text !== undefined && this.#turn === undefined) {
      const u32 = core.u32;
      if (u32[at] === 1 && u32[at + 5] === len && u32[at + 4] === core.piece) {
        events.push({ type: "text", text, start: core.offset((at + 8) * 4), end: core.offset((at + 10) * 4), recovered: false });
        return events;
      }
    }
    if (count > 0 && this.#turn !== undefined) {
      core.check(core.x.toolglot_turn_add(this.#turn, core.out), "toolglot_turn_error", this.#turn);
    }
    this.#maker.read(core, at, count, events, this.#turn === undefined ? undefined : ISSUE);
    return events;
  }
}

if (Symbol.dispose) Object.defineProperty(Stream.prototype, Symbol.dispose, { value: Stream.prototype.free });
