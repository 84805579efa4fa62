// Talks through the gateway with the official JavaScript clients of OpenAI, Anthropic and Ollama, and with the AI SDK. It only
// reads; gateway_clients.py, which starts it, compares.
//
//   node gateway_clients.mjs FOLDER < PLAN
//
// FOLDER holds the packages. PLAN is JSON: the gateway's URL, and cases with a model and its tools (name, description, schema).
// Writes a line of JSON for each response: the number of the case, the way in which it was read, and the reply or the error.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const require = createRequire(pathToFileURL(`${folder}/package.json`));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

const OpenAI = (await load("openai")).OpenAI;
const Anthropic = (await load("@anthropic-ai/sdk")).Anthropic;
const { Ollama } = await load("ollama");
const { generateText, streamText, tool, jsonSchema } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { createAnthropic } = await load("@ai-sdk/anthropic");

globalThis.AI_SDK_LOG_WARNINGS = false;
let input = "";
for await (const chunk of process.stdin) input += chunk;
const { url, cases } = JSON.parse(input);

const settings = { apiKey: "none", maxRetries: 0 };
const openai = new OpenAI({ ...settings, baseURL: `${url}/v1` });
const anthropic = new Anthropic({ ...settings, baseURL: url });
const ollama = new Ollama({ host: url });
const messages = [{ role: "user", content: "go" }];
const given = (tools) => (tools.length > 0 ? { tools } : {});

const chatTool = ({ name, description, schema }) => ({ type: "function", function: { name, description, parameters: schema } });
const responsesTool = ({ name, description, schema }) => ({ type: "function", name, description, parameters: schema, strict: false });
const messagesTool = ({ name, description, schema }) => ({ name, description, input_schema: schema });

function chatReply({ message, finish_reason }) {
  const calls = (message.tool_calls ?? []).map((call) => [call.function.name, call.function.arguments]);
  return { text: message.content ?? "", thought: message.reasoning_content ?? "", calls, reason: finish_reason };
}

function responsesReply(response) {
  const thoughts = response.output.filter((item) => item.type === "reasoning").flatMap((item) => item.content ?? []);
  const calls = response.output.filter((item) => item.type === "function_call").map((item) => [item.name, item.arguments]);
  return { text: response.output_text, thought: thoughts.map((part) => part.text).join(""), calls, reason: response.status };
}

function messagesReply(message) {
  const all = (type, key) => message.content.filter((block) => block.type === type).map((block) => block[key]).join("");
  const calls = message.content.filter((block) => block.type === "tool_use").map((block) => [block.name, JSON.stringify(block.input)]);
  return { text: all("text", "text"), thought: all("thinking", "thinking"), calls, reason: message.stop_reason };
}

function ollamaReply(parts) {
  const reply = { text: "", thought: "", calls: [], reason: null };
  for (const part of parts) {
    reply.text += part.message.content ?? "";
    reply.thought += part.message.thinking ?? "";
    for (const call of part.message.tool_calls ?? []) reply.calls.push([call.function.name, JSON.stringify(call.function.arguments)]);
    if (part.done) reply.reason = part.done_reason;
  }
  return reply;
}

// The AI SDK marks calls that do not fit their tools.
async function aiReply(result, { tools }) {
  const calls = (await result.toolCalls).map((call) => {
    if (call.invalid && tools.length > 0) throw new Error(`an invalid call: ${call.toolName}: ${call.error}`);
    return [call.toolName, JSON.stringify(call.input)];
  });
  return { text: await result.text, thought: (await result.reasoningText) ?? "", calls, reason: await result.finishReason };
}

function aiWays(name, model) {
  const prompt = (one) => ({
    model: model(one.model),
    messages,
    maxRetries: 0,
    maxOutputTokens: 1024,
    tools: Object.fromEntries(one.tools.map((own) => [own.name, tool({ description: own.description, inputSchema: jsonSchema(own.schema) })])),
  });
  return {
    [`${name}.generateText`]: async (one) => aiReply(await generateText(prompt(one)), one),
    [`${name}.streamText`]: async (one) => {
      let failed;
      const result = streamText({ ...prompt(one), onError: ({ error }) => (failed ??= error) });
      let text = "";
      for await (const piece of result.textStream) text += piece;
      if (failed) throw failed;
      const reply = await aiReply(result, one);
      if (reply.text !== text) throw new Error(`the text ${JSON.stringify(text)} is not ${JSON.stringify(reply.text)}`);
      return reply;
    },
  };
}

// By face, because the faces differ in their finish reasons.
const ways = {
  chat: {
    "openai.chat": async ({ model, tools }) => chatReply((await openai.chat.completions.create({ model, messages, ...given(tools.map(chatTool)) })).choices[0]),
    "openai.chat.stream": async ({ model, tools }) => {
      const stream = openai.chat.completions.stream({ model, messages, ...given(tools.map(chatTool)) });
      let thought = "";
      for await (const chunk of stream) thought += chunk.choices[0]?.delta?.reasoning_content ?? "";
      const reply = chatReply((await stream.finalChatCompletion()).choices[0]);
      return { ...reply, thought };
    },
    ...aiWays("ai-openai-compatible", createOpenAICompatible({ name: "gateway", baseURL: `${url}/v1`, apiKey: "none" }).chatModel),
  },
  responses: {
    "openai.responses": async ({ model, tools }) => responsesReply(await openai.responses.create({ model, input: messages, ...given(tools.map(responsesTool)) })),
    "openai.responses.stream": async ({ model, tools }) => {
      const stream = openai.responses.stream({ model, input: messages, ...given(tools.map(responsesTool)) });
      let text = "";
      for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
      const reply = responsesReply(await stream.finalResponse());
      if (reply.text !== text) throw new Error(`the text ${JSON.stringify(text)} is not ${JSON.stringify(reply.text)}`);
      return reply;
    },
    ...aiWays("ai-openai", createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" }).responses),
  },
  messages: {
    "anthropic.messages": async ({ model, tools }) => messagesReply(await anthropic.messages.create({ model, messages, max_tokens: 1024, ...given(tools.map(messagesTool)) })),
    "anthropic.messages.stream": async ({ model, tools }) => messagesReply(await anthropic.messages.stream({ model, messages, max_tokens: 1024, ...given(tools.map(messagesTool)) }).finalMessage()),
    ...aiWays("ai-anthropic", createAnthropic({ baseURL: `${url}/v1`, apiKey: "none" })),
  },
  ollama: {
    "ollama.chat": async ({ model, tools }) => ollamaReply([await ollama.chat({ model, messages, ...given(tools.map(chatTool)) })]),
    "ollama.chat.stream": async ({ model, tools }) => {
      const parts = [];
      for await (const part of await ollama.chat({ model, messages, stream: true, ...given(tools.map(chatTool)) })) parts.push(part);
      return ollamaReply(parts);
    },
  },
};

for (const [number, one] of cases.entries()) {
  for (const [face, own] of Object.entries(ways)) {
    for (const [way, read] of Object.entries(own)) {
      let line = { case: number, face, way };
      try {
        line.reply = await read(one);
      } catch (error) {
        line.error = `${error?.name}: ${error?.message}`.slice(0, 300);
      }
      console.log(JSON.stringify(line));
    }
  }
}
