// A worker that runs one function which the person at the page wrote. The page ends it when time is up. A server that sends a content security
// policy needs another one for this file: code from text is allowed, and every connection is forbidden.
onmessage = async ({ data: { code, name, given } }) => {
  try {
    const functions = (0, eval)(code);
    const run = Object.hasOwn(functions ?? {}, name) ? functions[name] : undefined;
    if (typeof run !== "function") return postMessage({ missing: true });
    postMessage({ json: JSON.stringify((await run(given)) ?? null) ?? "null" });
  } catch (error) {
    if (error instanceof EvalError) postMessage({ forbidden: true });
    else postMessage({ error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
  }
  return undefined;
};
