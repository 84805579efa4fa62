// Starts the page: theme and language, the parser, the server if there is one, and the views.
import { load } from "../toolglot/agent.js";
import { Server } from "./backend.js";
import { Market } from "./market.js";
import { Offline } from "./offline.js";
import { Runs } from "./runs.js";
import { shared, unpack } from "./share.js";
import { Store } from "./store.js";
import { Tester } from "./tester.js";
import { say, translate } from "./ui.js";

const ROUTES = ["tool-calling-tester", "runs", "market"];
const find = (id) => document.getElementById(id);
const root = document.documentElement;

/** A preference that outlives the page, where the browser keeps any. */
const kept = {
  get(name) {
    try {
      return localStorage.getItem(`toolglot.${name}`);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`toolglot.${name}`, value);
    } catch {
      // Then it is for this visit.
    }
  },
};

function theme(value) {
  root.dataset.theme = value;
  find("theme").value = value;
  document.querySelectorAll("toolglot-turn").forEach((turn) => turn.setAttribute("theme", value));
}

function language(value) {
  root.lang = value;
  find("lang").value = value;
  translate(document);
  document.querySelectorAll("toolglot-turn").forEach((turn) => turn.setAttribute("lang", value));
}

function preferences() {
  theme(kept.get("theme") ?? "auto");
  language(kept.get("lang") ?? (/^zh\b/i.test(navigator.language) ? "zh" : "en"));
  find("theme").addEventListener("change", ({ target }) => (theme(target.value), kept.set("theme", target.value)));
  find("lang").addEventListener("change", ({ target }) => (language(target.value), kept.set("lang", target.value)));
}

function route() {
  const wanted = location.hash.slice(1);
  const view = ROUTES.includes(wanted) ? wanted : ROUTES[0];
  for (const id of ROUTES) find(`view-${id}`).hidden = id !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.route === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Takes the state of the tester from the address, if it holds one. */
async function received(store) {
  if (!shared(location.hash)) return;
  try {
    store.load(await unpack(location.hash));
  } catch (error) {
    say(find("banner"), "share broken", error.message);
  }
}

async function start() {
  preferences();
  const server = Server.found();
  let toolglot = null;
  try {
    toolglot = await load();
  } catch (error) {
    say(find("banner"), "not loaded", error.message);
    return;
  }
  const about = await server.about();
  const backend = about.tools ? server : null;
  if (backend) say(find("banner"), "served", about.version ?? "");
  else say(find("banner"), about.refused ? "unauthorized" : "static");
  const store = new Store(toolglot, backend);
  // What is typed into the tester changes no agent of the server.
  const agents = backend ? new Store(toolglot, backend) : store;
  if (backend) {
    const definitions = JSON.stringify({ tools: about.tools.map(callable) }, null, 2);
    for (const one of [store, agents]) one.set({ task: "", definitions });
  }
  const tester = new Tester(store, { setup: find("setup"), reply: find("reply"), becomes: find("becomes") });
  const runs = new Runs(agents, backend ?? new Offline(store), about, { side: find("run-side"), main: find("run-main") });
  const market = new Market(store, about.tools ?? [], find("view-market"));
  translate(document);
  route();
  addEventListener("hashchange", () => void (shared(location.hash) ? received(store) : route()));
  await received(store);
  // For tests, and for those who look at the page with the tools of their browser.
  Object.assign(globalThis, { toolglotPage: { store, agents, tester, runs, market, server: backend !== null } });
  root.dataset.ready = "true";
}

/** A tool of the server as a manifest has it: the server lists what agents may call. */
function callable({ name, id = name, ...rest }) {
  return { id, agentCallable: true, ...rest };
}

await start();
