// The program of docs/PAGE.md.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { opened, root, started } from "./setup.mjs";

const [, program] = /```html\n([^]*?)```/.exec(readFileSync(`${root}docs/PAGE.md`, "utf8"));
const place = await started({
  csp: null,
  api: (request, response, path) =>
    path === "/manual.html" &&
    Boolean(
      response
        .writeHead(200, { "content-type": "text/html" })
        .end(`${program}<script type="module">document.documentElement.dataset.ready = "true"</script>`),
    ),
});

test("the program of the manual shows a reply", async () => {
  const page = await opened(place, "/manual.html");
  await page.until(() => document.querySelector("toolglot-turn").calls[0]?.state === "done");
  assert.match(
    await page.run(() => document.querySelector("toolglot-turn").shadowRoot.textContent),
    /I look\..*tides.*Leith.*12 ms.*11:45/s,
  );
  assert.deepEqual(
    page.complaints.filter((one) => !/favicon/.test(one)),
    [],
  );
});
