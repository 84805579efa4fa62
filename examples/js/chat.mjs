// A chat with a model that writes its calls into its text: prints the text as it comes, runs each call, and goes on until none comes.
//
//   node chat.mjs http://localhost:8000/v1 MODEL [DIALECT]
import { load } from "toolglot/agent";

const [url, model, dialect = "hermes"] = process.argv.slice(2);
const toolglot = await load();
const tools = new toolglot.Tools({
  name: "weather",
  description: "Tells the weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
});
const functions = { weather: ({ city }) => (city === "Leith" ? "rain" : "sun") };
const engine = new toolglot.Engine({ dialects: dialect, tools: tools.definitions });

/** Runs a call. An error is a result too: the model reads it. */
async function run(call) {
  const { name, tool, valid, recovered, arguments: args, observation } = tools.check(call, { dialect });
  if (recovered) return { name, status: "not_run", content: "The call is malformed." }; // its arguments are a guess
  if (!valid) return { name, status: "error", content: observation };
  try {
    return { name, content: await functions[tool](args) };
  } catch (error) {
    return { name, status: "error", content: String(error) };
  }
}

/** Asks for a reply. Returns it as the model wrote it, and the results of its calls. */
async function ask(messages) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ model, messages, stream: true });
  const response = await fetch(`${url}/chat/completions`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`the server answers ${response.status}: ${await response.text()}`);
  const reader = engine.reader("openai");
  const results = [];
  let content = "";
  let calls = []; // of the open block: they stand once it is closed
  const take = (event) => {
    if (event.type === "text") {
      process.stdout.write(event.text);
      content += event.text;
    } else if (event.type === "call_close") {
      calls.push(event);
    } else if (event.type === "block_abandoned") {
      calls = [];
    } else if (event.type === "block_close") {
      content += new TextDecoder().decode(event.raw);
      results.push(...calls.splice(0).map(run));
    } else if (event.type === "issue") {
      console.error(`[${event.message}]`); // a slip in a call, or a call that is incomplete
    }
  };
  try {
    for await (const chunk of response.body) reader.feed(chunk).forEach(take);
    reader.finish().forEach(take);
    if (reader.errors.length > 0) throw new Error(reader.errors.join("\n"));
  } finally {
    reader.free();
  }
  return { content, results: await Promise.all(results) };
}

const messages = [
  { role: "system", content: tools.prompt(dialect, { engine }) },
  { role: "user", content: "How is the weather in Leith?" },
];
for (let round = 0; round < 8; round += 1) {
  const { content, results } = await ask(messages);
  console.log();
  if (results.length === 0) break;
  for (const result of results) console.log(`[${result.name}: ${result.content}]`);
  messages.push({ role: "assistant", content }, tools.results(results, dialect, { engine }));
}
