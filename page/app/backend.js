// The server: `toolglot serve`. Its address has a token in the fragment, which the page keeps for this tab and sends with every request.
//
// Events come over a WebSocket. Where none can be opened, because a proxy or a browser does not let it, they come as server-sent events.

const KEPT = "toolglot.token";
/** Milliseconds before a broken stream of events is opened again, at most. */
const PATIENCE = 10000;

export class ServerError extends Error {
  constructor(status, { code = "", message = `HTTP ${status}`, digest, arguments: shown } = {}) {
    super(message);
    Object.assign(this, { status, code, digest, shown });
  }
}

export class Server {
  #token;
  /** Whether a WebSocket is tried first. */
  #sockets = true;

  constructor(token) {
    this.#token = token;
  }

  /** The server that this page came from, with the token of its address. */
  static found() {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    try {
      if (given !== null) {
        sessionStorage.setItem(KEPT, given);
        history.replaceState(null, "", location.pathname + location.search);
      }
      return new Server(given ?? sessionStorage.getItem(KEPT));
    } catch {
      return new Server(given);
    }
  }

  /** What `GET /api/tools` says; `{}` if there is no server, and `{ refused: true }` if it does not know this page. */
  async about() {
    if (this.#token === null) return {};
    try {
      return await this.#ask("GET", "/api/tools");
    } catch (error) {
      return error.status === 401 || error.status === 403 ? { refused: true } : {};
    }
  }

  async runs() {
    return (await this.#ask("GET", "/api/runs")).runs;
  }

  run(id) {
    return this.#ask("GET", `/api/runs/${encodeURIComponent(id)}`);
  }

  async start(what) {
    return (await this.#ask("POST", "/api/runs", what)).id;
  }

  decide(id, decision) {
    return this.#ask("POST", `/api/runs/${encodeURIComponent(id)}/decisions`, decision);
  }

  cancel(id) {
    return this.#ask("POST", `/api/runs/${encodeURIComponent(id)}/cancel`);
  }

  delete(id) {
    return this.#ask("DELETE", `/api/runs/${encodeURIComponent(id)}`);
  }

  /** What the model of such a run would be told: `{ prompt, tools }`. */
  prompt(what) {
    return this.#ask("POST", "/api/prompt", what);
  }

  call(name, given, approved) {
    return this.#ask("POST", "/api/calls", { name, arguments: given, approved });
  }

  /** Yields the events of a run after number `after`, across broken connections, until it is finished. `lost` is told of each break. */
  async *events(id, { after = 0, signal, lost = () => {} }) {
    let last = after;
    for (let wait = 250; !signal.aborted;) {
      try {
        for await (const event of this.#connection(id, last, signal)) {
          last = event.n;
          wait = 250;
          yield event;
          if (finished(event)) return;
        }
        if ((await this.run(id)).state === "finished") return;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ServerError && error.status < 500) throw error;
      }
      lost();
      await new Promise((go) => setTimeout(go, wait));
      wait = Math.min(PATIENCE, wait * 2);
    }
  }

  /** One connection. */
  async *#connection(id, after, signal) {
    const path = `/api/runs/${encodeURIComponent(id)}/events?after=${after}`;
    const socket = this.#sockets && (await opened(path, this.#token, signal));
    if (socket) yield* received(socket);
    else yield* this.#stream(path, signal);
  }

  /** `EventSource` cannot send the token, so the stream is read here. */
  async *#stream(path, signal) {
    const response = await this.#fetch("GET", path, { signal, accept: "text/event-stream" });
    // The server answers this way only: no other need be tried again.
    this.#sockets = false;
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    let rest = "";
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const parts = (rest + decoder.decode(next.value, { stream: true })).replace(/\r\n?/g, "\n").split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const data = part
          .split("\n")
          .filter((line) => line.startsWith("data:"))
          .map((line) => line.slice(5).trimStart());
        if (data.length > 0) yield JSON.parse(data.join("\n"));
      }
    }
  }

  async #ask(method, path, body) {
    const response = await this.#fetch(method, path, { body });
    return response.status === 204 ? null : response.json();
  }

  async #fetch(method, path, { body, signal, accept = "application/json" } = {}) {
    const headers = { accept, authorization: `Bearer ${this.#token}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    const response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    if (response.ok) return response;
    throw new ServerError(response.status, await told(response));
  }
}

/** An open WebSocket with the messages that it has received, or `null` if none can be opened. */
function opened(path, token, signal) {
  return new Promise((resolve) => {
    let socket = null;
    const messages = [];
    const self = { messages, closed: false, news: () => {}, close: () => socket.close() };
    try {
      const url = new URL(path, location.href.replace(/^http/, "ws"));
      socket = new WebSocket(url, ["toolglot.v1", `toolglot.token.${token}`]);
    } catch {
      resolve(null);
      return;
    }
    signal.addEventListener("abort", () => socket.close(), { once: true });
    socket.addEventListener("open", () => resolve(self));
    socket.addEventListener("message", ({ data }) => {
      messages.push(data);
      self.news();
    });
    socket.addEventListener("close", () => {
      self.closed = true;
      self.news();
      resolve(null);
    });
  });
}

/** Yields the events of a WebSocket until it is closed. */
async function* received(socket) {
  try {
    for (;;) {
      for (const message of socket.messages.splice(0)) yield JSON.parse(message);
      if (socket.messages.length > 0) continue;
      if (socket.closed) return;
      await new Promise((go) => (socket.news = go));
    }
  } finally {
    socket.close();
  }
}

/** What the server says about an error; the digest of a call that needs a decision is beside it or in it. */
async function told(response) {
  try {
    const { error, digest } = await response.json();
    return { digest, ...error };
  } catch {
    return {};
  }
}

/** Whether an event is the last of its run. */
export function finished(event) {
  return event.outcome !== undefined;
}
