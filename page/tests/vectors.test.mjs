// Every conformance vector: the nodes of the element are the same however the reply is chunked, and say what the turn says.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import test from "node:test";
import { opened, root, started } from "./setup.mjs";

const place = await started();

test("the element shows the same for every chunking, and the turn's text", { timeout: 900000 }, async () => {
  const page = await opened(place, "/tests/element.html");
  let cases = 0;
  const wrong = [];
  for (const file of readdirSync(`${root}tests/vectors`).filter((name) => name.endsWith(".jsonl"))) {
    const said = await page.run((name) => testing.vectors(name), file);
    cases += said.cases;
    if (said.count > 0) wrong.push(`${file}: ${said.count}\n${said.wrong.join("\n")}`);
  }
  assert.equal(wrong.join("\n\n").slice(0, 6000), "");
  assert(cases > 3000, String(cases));
  assert.deepEqual(page.complaints, []);
  console.log(`${cases} vectors in chunks of 1, 2, 3, 7 and 64 bytes and whole`);
});
