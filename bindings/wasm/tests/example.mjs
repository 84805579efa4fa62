// Drives examples/js/browser.html in headless Chromium: with the package beside the page, and from another origin, as a CDN serves it.
//
//   node example.mjs CHROMIUM PACKAGE ADDRESS      where the package is unpacked, and the address of examples/js/text_server.mjs
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { launch, serve } from "../../../page/tests/browser.mjs";

const [chromium, unpacked, address] = process.argv.slice(2);
const html = await readFile(new URL("../../../examples/js/browser.html", import.meta.url), "utf8");
const beside = 'from "./toolglot.js"';
assert(html.includes(beside));
const elsewhere = await serve({ "/package/": unpacked }, {
  csp: null,
  api: (request, response) => {
    response.setHeader("access-control-allow-origin", "*");
    return false;
  },
});
const pages = { "/beside.html": html, "/elsewhere.html": html.replace(beside, `from "${elsewhere.url}/package/toolglot.js"`) };
const server = await serve({ "/": unpacked }, {
  csp: null,
  api: (request, response, path) => {
    if (path in pages) response.setHeader("content-type", "text/html; charset=utf-8").end(pages[path]);
    return path in pages;
  },
});

const browser = await launch(chromium);
try {
  for (const name of Object.keys(pages)) {
    const page = await browser.page();
    const ask = async (url) => {
      await page.go(`${server.url}${name}?${new URLSearchParams({ url, model: "m" })}`);
      await page.until(() => !document.querySelector("button").disabled);
      await page.run(() => document.querySelector("button").click());
      return page.until(() => !document.querySelector("button").disabled && document.querySelector("#out").textContent);
    };
    assert.equal(await ask(address), 'Let me look.\n[weather {"city": "Leith"}]');
    const wasm = page.requests.filter((url) => url.endsWith(".wasm"));
    assert.deepEqual(wasm, [name === "/beside.html" ? `${server.url}/toolglot.wasm` : `${elsewhere.url}/package/toolglot.wasm`]);
    assert.deepEqual(page.complaints.filter((line) => !line.includes("favicon")), []);
    assert.match(await ask(`${server.url}/nothing`), /^Error: the server answers 404/);
    await page.close();
  }
} finally {
  await browser.close();
  await Promise.all([server.close(), elsewhere.close()]);
}
console.log("browser.html: with the package beside it, and from another origin");
