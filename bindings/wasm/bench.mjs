// Measures the cost of a chunk against that of joining the strings, in one run: `node bench.mjs`.
import { load } from "./toolglot.js";

const SIZE = 4;
const TEXT = "The quick brown fox jumps over the lazy dog, and then it rains. ".repeat(1 << 15);
const CALL = `<tool_call name="f"><param name="a">${TEXT}</param></tool_call>`;
const ROUNDS = 5;

const pieces = (text) => Array.from({ length: Math.ceil(text.length / SIZE) }, (_, at) => text.slice(at * SIZE, (at + 1) * SIZE));
const encoder = new TextEncoder();

/** The best of several rounds, in nanoseconds per chunk. */
function best(chunks, work) {
  const times = Array.from({ length: ROUNDS }, () => {
    const from = performance.now();
    work(chunks);
    return ((performance.now() - from) * 1e6) / chunks.length;
  });
  return Math.min(...times).toFixed(0).padStart(6);
}

const toolglot = await load();
let from = performance.now();
const engine = new toolglot.Engine();
console.log(`the engine of the default set: ${(performance.now() - from).toFixed(0)} ms`);

const feed = (chunks) => {
  const stream = engine.stream();
  let length = 0;
  for (const chunk of chunks) for (const event of stream.feed(chunk)) if (event.type === "text") length += event.text.length;
  stream.finish();
  stream.free();
  return length;
};
const join = (chunks) => {
  let text = "";
  for (const chunk of chunks) text += chunk;
  return text.length;
};
const strings = pieces(TEXT);
const bytes = strings.map((chunk) => encoder.encode(chunk));
console.log(`ns for each chunk of ${SIZE} bytes`);
console.log(`${best(strings, join)}  joining strings, nothing else`);
console.log(`${best(strings, feed)}  text, as strings`);
console.log(`${best(bytes, feed)}  text, as bytes`);
console.log(`${best(pieces(CALL), feed)}  an argument, as strings`);
from = performance.now();
const turn = engine.parse(TEXT);
console.log(`parse() of ${(turn.text.length / 1e6).toFixed(1)} MB of text: ${(performance.now() - from).toFixed(0)} ms`);
