// Stands for a server whose model knows no `tools`: it writes a call of Hermes into its text, and then what came of it. Prints its address.
//
//   node text_server.mjs [PORT]
import { createServer } from "node:http";

const CALL = 'Let me look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Leith"}}\n</tool_call>';
const CORS = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };

function reply({ tools, messages }) {
  if (tools || !messages[0].content.includes("weather")) throw new Error("this model knows no tools but those of its prompt");
  const [, result] = /<tool_response>(.*)<\/tool_response>/s.exec(messages.at(-1).content) ?? [];
  return result === undefined ? CALL : `In Leith there is ${result.trim()}.`;
}

const server = createServer(async (request, response) => {
  const answer = (status, type) => response.writeHead(status, { "content-type": type, ...CORS });
  if (request.method === "OPTIONS") return answer(204, "text/plain").end();
  let asked, text;
  try {
    asked = JSON.parse(Buffer.concat(await request.toArray()));
    text = reply(asked);
  } catch (error) {
    return answer(400, "application/json").end(JSON.stringify({ error: { message: error.message } }));
  }
  const frame = { id: "chatcmpl-1", created: 1, model: asked.model };
  if (!asked.stream) {
    const choice = { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return answer(200, "application/json").end(JSON.stringify({ ...frame, object: "chat.completion", choices: [choice], usage }));
  }
  answer(200, "text/event-stream");
  const send = (delta, reason = null) => {
    const choice = { index: 0, delta, finish_reason: reason };
    response.write(`data: ${JSON.stringify({ ...frame, object: "chat.completion.chunk", choices: [choice] })}\n\n`);
  };
  for (let at = 0; at < text.length; at += 4) send({ role: "assistant", content: text.slice(at, at + 4) });
  send({}, "stop");
  response.end("data: [DONE]\n\n");
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/v1`));
