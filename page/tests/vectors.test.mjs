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

test("long texts have the same pages for every chunking", async () => {
  const page = await opened(place, "/tests/element.html");
  const wrong = await page.run(async () => {
    const { Growing } = await import("/element/grow.js");
    const lines = (text, count) => text.repeat(count);
    const texts = [
      lines("0123456789 abc\n", 3000),
      "🙂".repeat(20001),
      `a${"🙂".repeat(20001)}`,
      `${"x".repeat(16383)}🙂\n${"y".repeat(40000)}`,
      `\n\n${"z".repeat(8191)}\n${"w".repeat(8190)}\n\n`,
      "\n".repeat(20000),
      `${"a".repeat(16384)}${"b".repeat(16384)}`,
      "",
    ];
    /** Whole characters, as events have them. */
    const shown = (text, size, trims) => {
      const dirty = new Set();
      const made = new Growing((one) => dirty.add(one), { label: "x", trims });
      const units = [...text];
      for (let at = 0; at < units.length; at += size) {
        made.push(units.slice(at, at + size).join(""));
        if ((at / size) % 3 === 0) made.paint();
      }
      made.paint();
      return made.node;
    };
    const wrong = [];
    for (const text of texts) {
      for (const trims of [false, true]) {
        const whole = shown(text, Infinity, trims);
        if (whole.textContent !== text) wrong.push(`another text: ${text.length} ${trims}`);
        const pages = [...whole.querySelectorAll(".page")];
        if (pages.some((one) => one.textContent.length > 16384)) wrong.push(`a long page: ${text.length}`);
        for (const size of [1, 7, 1000, 8192, 16384, 16385]) {
          if (shown(text, size, trims).outerHTML !== whole.outerHTML)
            wrong.push(`${text.length} units in pieces of ${size}, ${trims}`);
        }
      }
    }
    return wrong;
  });
  assert.deepEqual(wrong, []);
});
