// A transcript, split in hostile ways, and a digest of the events. Node and the browser run this file and must agree.
import { joined, lines } from "./log.mjs";

export const REPLY =
  'Grüße 🌊! <think>hm 中</think> <tool_call name="f"><param name="a">né 🌊</param></tool_call> und ' +
  '<tool_call name="g"><param name="b">2</param></tool_call> Ende 中';

/** Every split in two, single bytes, single code units, and both in alternation. */
export function* cuts(text) {
  const bytes = new TextEncoder().encode(text);
  yield [bytes];
  yield Array.from(bytes, (byte) => Uint8Array.of(byte));
  yield text.split("");
  for (let at = 0; at <= bytes.length; at++) yield [bytes.subarray(0, at), "", bytes.subarray(at)];
  for (let at = 0; at <= text.length; at++) yield [text.slice(0, at), new Uint8Array(0), text.slice(at)];
}

/** The result for a transcript: its turn, its log, and for how many splits the log was the same. */
export function replay(toolglot, transcript) {
  const engine = new toolglot.Engine();
  const turn = engine.parse(transcript);
  let want;
  let same = 0;
  let others = 0;
  const stream = engine.stream();
  for (const chunks of cuts(transcript)) {
    stream.reset();
    const events = chunks.flatMap((chunk) => stream.feed(chunk));
    const log = lines(joined([...events, ...stream.finish()])).join("\n");
    want ??= log;
    if (log === want) same++;
    else others++;
  }
  stream.free();
  engine.free();
  return { version: toolglot.version, turn, log: want.split("\n"), same, others, live: toolglot.liveStreams };
}
