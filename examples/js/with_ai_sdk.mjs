// The AI SDK with a model that writes its calls into its text.
//
//   npm install ai @ai-sdk/openai-compatible zod
//   node with_ai_sdk.mjs http://localhost:8000/v1 MODEL [DIALECT]
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, streamText, tool, wrapLanguageModel } from "ai";
import { load } from "toolglot/agent";
import { z } from "zod";

const [baseURL, name, dialect = "hermes"] = process.argv.slice(2);
const toolglot = await load();
const model = wrapLanguageModel({
  model: createOpenAICompatible({ name: "local", baseURL })(name),
  middleware: toolglot.middleware({ dialect }),
});
const weather = tool({
  description: "Tells the weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => (city === "Leith" ? "rain" : "sun"),
});
const request = { model, tools: { weather }, stopWhen: isStepCount(8), prompt: "How is the weather in Leith?" };

const { text, steps } = await generateText(request);
console.log(text, steps.length);

for await (const part of streamText(request).stream) {
  if (part.type === "text-delta") process.stdout.write(part.text);
  if (part.type === "tool-call") console.log(`[${part.toolName} ${JSON.stringify(part.input)}]`);
  if (part.type === "tool-result") console.log(`[${part.output}]`);
  if (part.type === "error") throw part.error;
}
process.stdout.write("\n");
