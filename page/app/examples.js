// What the page shows before anything was pasted: tools, replies, functions, and the script of a model for runs without a server.

export const DEFINITIONS = JSON.stringify(
  {
    tools: [
      {
        id: "harbour:tides",
        description: "High and low water of a port",
        agentCallable: true,
        tags: ["read", "sea"],
        parameters: {
          type: "object",
          required: ["port"],
          properties: {
            port: { type: "string", description: "Name of the port" },
            days: { type: "integer", minimum: 1, description: "How many days" },
          },
        },
      },
      {
        id: "harbour:book_berth",
        description: "Books a berth for one boat",
        agentCallable: true,
        tags: ["write", "sea"],
        parameters: {
          type: "object",
          required: ["port", "boat"],
          properties: { port: { type: "string" }, boat: { type: "string" }, nights: { type: "integer", minimum: 1 } },
        },
      },
      {
        id: "notes:append",
        description: "Adds a line to the log book",
        agentCallable: true,
        tags: ["write"],
        parameters: { type: "object", required: ["text"], properties: { text: { type: "string" } } },
      },
      { id: "harbour:reset", description: "Deletes all bookings", agentCallable: false, tags: ["admin"] },
    ],
  },
  null,
  2,
);

export const REPLIES = {
  "hermes: two calls, one repaired": `<think>They want the tides first. Then one line for the log book.</think>I look up the tides.

<tool_call>
{"name": "harbour:tides", "arguments": {"port": "Leith", "days": 3}}
</tool_call>
<tool_call>
{"name": "notes:append", "arguments": {"text": "Asked for the tides of Leith",}}
</tool_call>`,
  "XML: a file is written": `I write the plan down.

<tool_call name="notes:append"><param name="text"># Monday
06:10 cast off
11:45 high water, Leith
18:20 berth
</param></tool_call>
Anything else?`,
  "VCP: quoted keys": `好的，我来查一下潮汐。
<<<[TOOL_REQUEST]>>>
tool_name:「始」harbour:tides「末」,
port:「始」利斯「末」,
days:「始」2「末」
<<<[END_TOOL_REQUEST]>>>`,
  "truncated in a call": `One moment.
<tool_call>
{"name": "harbour:book_berth", "arguments": {"port": "Leith", "boat": "Ma`,
  "a marker that is only mentioned":
    "To call a tool, write `<tool_call>` and then JSON. The word <tool_call> alone does nothing, and this stays text.",
};

export const FUNCTIONS = `// One function for each tool: it gets the arguments and returns the result.
({
  "harbour:tides": ({ port, days = 1 }) =>
    Array.from({ length: days }, (_, day) => ({ port, day, high: "11:45", low: "05:30" })),
  "notes:append": ({ text }) => \`noted: \${text}\`,
  "harbour:book_berth": async ({ port, boat, nights = 1 }) => {
    await new Promise((done) => setTimeout(done, 300));
    return { port, boat, nights, berth: "B12" };
  },
})
`;

export const TASK = "When can I enter Leith tomorrow? Book a berth for the Marie, and note it.";

export const SCRIPT = `<think>First the tides, then the berth.</think>I look up the tides.
<tool_call>
{"name": "harbour:tides", "arguments": {"port": "Leith", "days": 2}}
</tool_call>
---
High water is at 11:45. I book the berth and note it.
<tool_call>
{"name": "harbour:book_berth", "arguments": {"port": "Leith", "boat": "Marie", "nights": 1}}
</tool_call>
<tool_call>
{"name": "notes:append", "arguments": {"text": "Marie: Leith, berth booked, in at 11:45"}}
</tool_call>
---
You can enter Leith at 11:45. What you allowed is done: see the calls above.
`;
