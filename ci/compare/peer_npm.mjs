// Runs the protocols of @ai-sdk-tool/parser: `peer_npm.mjs FOLDER`, where the package is installed. One job a line; src/main.rs has the fields.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/`);
const { hermesProtocol, morphXmlProtocol, qwen3CoderProtocol, yamlXmlProtocol } = await import(pathToFileURL(require.resolve("@ai-sdk-tool/parser")));
const protocols = { hermes: hermesProtocol, "morph-xml": morphXmlProtocol, qwen3coder: qwen3CoderProtocol, "yaml-xml": yamlXmlProtocol };
for (const name of ["log", "info", "warn", "error", "debug"]) console[name] = () => {};

const seconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

function pieces(text, cuts) {
  const letters = [...text];
  let at = 0;
  return cuts.map((length) => letters.slice(at, (at += length)).join(""));
}

function take(part, out) {
  if (part.type === "text-delta") out.text += part.delta;
  if (part.type === "text") out.text += part.text;
  if (part.type === "tool-call") out.calls[Object.keys(out.calls).length] = [part.toolName, part.input];
  if (part.type === "error") out.error = `error: ${part.error?.message ?? part.error}`;
}

async function answer(job, out) {
  const protocol = protocols[job.parser]();
  const tools = job.tools.map((tool) => ({ type: "function", name: tool.name, description: "", inputSchema: tool.parameters }));
  if (!job.cuts) {
    for (const part of protocol.parseGeneratedText({ text: job.input, tools })) take(part, out);
    return;
  }
  const chunks = pieces(job.input, job.cuts);
  const begun = seconds();
  const stream = protocol.createStreamParser({ tools });
  const writer = stream.writable.getWriter();
  const reading = (async () => {
    for await (const part of stream.readable) take(part, out);
  })();
  const writing = (async () => {
    await writer.write({ type: "stream-start", warnings: [] });
    await writer.write({ type: "text-start", id: "0" });
    for (const [number, chunk] of chunks.entries()) {
      await writer.write({ type: "text-delta", id: "0", delta: chunk });
      out.fed += chunk.length;
      if (number % 16 === 15 && seconds() - begun > job.limit) break;
    }
    await writer.write({ type: "text-end", id: "0" });
    await writer.write({ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} });
    await writer.close();
  })();
  await Promise.all([reading, writing]);
  out.seconds = seconds() - begun;
}

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  const out = { text: "", calls: {}, error: null, fed: 0, seconds: 0 };
  try {
    await answer(job, out);
  } catch (why) {
    out.error = `${why?.name}: ${why?.message}`;
  }
  if (job.quiet) Object.assign(out, { text: "", calls: {} });
  process.stdout.write(`${JSON.stringify(out)}\n`);
}
