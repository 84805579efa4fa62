// Which tools a model gets: reads definitions, and filters them by the configuration as `Inventory::discover` of the tools layer does.

/** The configuration of the tools layer (`CallConfig`), with calls enabled. It may also have `toolIdsInventory`, the ids that are granted. */
export const CONFIG = Object.freeze({
  enabled: true,
  toolToggles: {},
  defaultToolEnabled: true,
  maxIterations: 5,
  timeout: 30000,
  requireConfirmation: false,
  parallelExecution: false,
});

/** Reads definitions in any form. Returns the tools, or the sentence that says what is wrong. */
export function read(toolglot, text) {
  if (text.trim() === "") return { tools: [], fault: "" };
  let tools = null;
  try {
    tools = new toolglot.Tools(text);
    const allowed = callable(JSON.parse(text));
    const list = JSON.parse(tools.manifest()).tools.map((tool) => ({ ...tool, agentCallable: allowed(tool.id) }));
    return { tools: list, fault: faults(toolglot, list) };
  } catch (error) {
    return { tools: [], fault: error.message };
  } finally {
    tools?.free();
  }
}

/** Whether models may call a tool: where definitions are entries of a manifest, only if they say so. */
function callable(given) {
  const list = Array.isArray(given) ? given : (given.tools ?? [given]);
  const entries = new Map(list.filter((one) => typeof one?.id === "string").map((one) => [one.id, one.agentCallable === true]));
  return (id) => entries.get(id) ?? true;
}

/** Tools as the parser takes them. */
export function declared(tools) {
  return tools.map(({ id, parameters }) => ({ name: id, ...(parameters && { parameters }) }));
}

/** What the parser cannot use of definitions that can be read. */
function faults(toolglot, tools) {
  if (tools.length === 0) return "";
  const engine = new toolglot.Engine({ dialects: "hermes", tools: declared(tools) });
  const said = engine.toolIssues.join("\n");
  engine.free();
  return said;
}

/** What precedes the last colon of an id, or else the last dot. */
function namespace(id) {
  const at = id.includes(":") ? id.lastIndexOf(":") : id.lastIndexOf(".");
  return at > 0 ? id.slice(0, at) : null;
}

/** Why a tool is not offered: the key of the words that say it, or `null`. */
export function withheld(tool, config) {
  if (!config.enabled) return "disabled";
  if (!tool.description && tool.parameters === undefined) return "not described";
  if (!tool.agentCallable) return "not callable";
  const { toolToggles: toggles, toolIdsInventory: granted, defaultToolEnabled } = config;
  if (granted && !granted.includes(tool.id)) return "not granted";
  const space = namespace(tool.id);
  const on = toggles[tool.id] ?? (space === null ? undefined : toggles[space]) ?? defaultToolEnabled;
  return on ? null : "off";
}

/** The tools that a model gets. */
export function offered(tools, config) {
  return tools.filter((tool) => withheld(tool, config) === null);
}

/** The text that tells a model about tools. */
export function prompt(toolglot, tools, dialect, lang) {
  if (tools.length === 0) return "";
  const made = new toolglot.Tools({ tools });
  try {
    return made.prompt(dialect, { lang });
  } finally {
    made.free();
  }
}
