// The table of words: each is used, each that is used exists, and both languages name the same values.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { KEYS, TABLE } from "../words.js";

const page = new URL("../", import.meta.url);
const files = ["", "app/", "element/"].flatMap((folder) =>
  readdirSync(new URL(folder, page))
    .filter((name) => /\.(js|html)$/.test(name) && name !== "words.js")
    .map((name) => folder + name),
);
const text = files.map((name) => readFileSync(new URL(name, page), "utf8")).join("\n");
/** Keys that are put together: the beginning, which must be followed by a value. */
const MADE = ["state ", "grade ", "policy ", "run ", "outcome "];

test("each word is used", () => {
  const used = (key) =>
    text.includes(`"${key}"`) ||
    MADE.some((beginning) => key.startsWith(beginning) && text.includes(`\`${beginning}\${`)) ||
    ["error", "warning"].includes(key);
  assert.deepEqual(
    KEYS.filter((key) => !used(key)),
    [],
  );
});

test("both languages name the same values", () => {
  const values = (words) => [...new Set(words.match(/\{\d\}/g) ?? [])].sort().join();
  assert.deepEqual(
    KEYS.filter((key) => TABLE[key].length !== 2 || values(TABLE[key][0]) !== values(TABLE[key][1])),
    [],
  );
});

test("each word that is used exists", () => {
  const uses = [
    /\bw\("([^"]+)"/g,
    /\bsaid\((?:[\w.#]+, )?"\w+", "([^"]+)"/g,
    /\b(?:button|field|panel|labelled)\((?:[\w.#]+, )?"([^"]+)"/g,
    /data-(?:w|label)"?[=:] ?"([^"]+)"/g,
    /\{ key: "([^"]+)"/g,
  ];
  const found = uses
    .flatMap((use) => [...text.matchAll(use)].map(([, key]) => key))
    .filter((key) => !["server", "of tester"].includes(key));
  assert(found.length > 120, String(found.length));
  assert.deepEqual(
    found.filter((key) => !KEYS.includes(key)),
    [],
  );
});
