// Carries out calls in the page: functions that a person wrote, each call in a worker of its own, which is ended at the time limit.

const WORKER = new URL("../sandbox.js", import.meta.url);

/**
 * Runs a function. Returns `{ state, result, ms }`, where `state` is that of a settled call, and `result` a value or what went wrong.
 * `limit` are milliseconds; `w` are the words of the page.
 */
export function execute(code, name, given, { limit, signal, w }) {
  const began = performance.now();
  return new Promise((resolve) => {
    const worker = new Worker(WORKER);
    const over = (state, result) => {
      clearTimeout(timer);
      worker.terminate();
      resolve({ state, result, ms: Math.round(performance.now() - began) });
    };
    const timer = limit === undefined ? undefined : setTimeout(() => over("timed_out", w("time over", limit)), limit);
    signal?.addEventListener("abort", () => over("cancelled", ""), { once: true });
    worker.onerror = (event) => over("failed", event.message ?? "");
    worker.onmessage = ({ data }) => {
      if (data.json !== undefined) over("done", JSON.parse(data.json));
      else if (data.missing) over("failed", w("no function", name));
      else if (data.forbidden) over("failed", w("no eval"));
      else over("failed", data.error);
    };
    worker.postMessage({ code, name, given });
  });
}

/** The status of a result for the model, by the state of its call. */
const STATUS = { done: "success", failed: "error", timed_out: "timeout", denied: "denied", cancelled: "cancelled" };

/** A result as the tools layer takes it. */
export function toolResult(name, { state, result }) {
  return { name, status: STATUS[state] ?? "error", content: result };
}
