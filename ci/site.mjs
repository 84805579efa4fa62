// Clicks through the documentation site in headless Chromium: `ci/site.mjs SITE CHROMIUM [PICTURES]`. Run by ci/site.sh.
//
// Every entry of the menu is clicked, then every other page is opened from the one that links to it. Each must load without an
// error, with its heading and its pictures, and fit a narrow window.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { launch, serve } from "../page/tests/browser.mjs";

const [site, chromium, pictures] = process.argv.slice(2);
const SHOWN = ["index.html", "comparison.html", "data.html", "cli.html", "formats.html", "dialects-hermes.html", "dialects-index.html"];

/** What is wrong with the page that is open. */
const faults = () => {
  const wrong = [];
  if (!document.querySelector("main h1")) wrong.push("no heading");
  for (const image of document.images) if (!image.complete || image.naturalWidth === 0) wrong.push(`no picture ${image.src}`);
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) wrong.push(`${wide} pixels wider than the window`);
  return wrong;
};

const server = await serve({ "/": site }, { csp: null });
const browser = await launch(chromium);
const wrong = [];
try {
  for (const width of [1280, 400]) {
    const page = await browser.page({ width, height: 900 });
    const seen = new Set();
    /** Waits for a page; while one gives way to the next, nothing can be asked. */
    const arrived = async (path) => {
      const there = () => [location.pathname, document.readyState, window.left].join(" ");
      for (const end = Date.now() + 20000; Date.now() < end; await new Promise((go) => setTimeout(go, 20))) {
        if ((await page.run(there).catch(() => "")) === `${path} complete `) return;
      }
      throw new Error(`${path} did not load`);
    };
    /** Clicks a link, and looks at where it leads. */
    const click = async (selector, number) => {
      const leads = await page.run((selector, number) => {
        const link = document.querySelectorAll(selector)[number];
        window.left = "left";
        setTimeout(() => link.click());
        return link.pathname;
      }, selector, number);
      await arrived(leads);
      await look(leads.slice(1));
    };
    const look = async (name) => {
      seen.add(name);
      if (name.startsWith("play/")) return;
      for (const fault of await page.run(faults)) wrong.push(`${name} at ${width}: ${fault}`);
      for (const complaint of page.complaints.splice(0)) wrong.push(`${name} at ${width}: ${complaint}`);
      if (pictures && SHOWN.includes(name)) {
        await mkdir(pictures, { recursive: true });
        await writeFile(join(pictures, `${name.replace(".html", "")}-${width}.png`), await page.shot());
      }
    };
    await page.go(`${server.url}/index.html`);
    await look("index.html");
    const menu = await page.run(() => document.querySelectorAll("nav a").length);
    for (let number = 0; number < menu; number += 1) {
      await page.go(`${server.url}/index.html`);
      await click("nav a", number);
    }
    for (const from of [...seen].filter((name) => !name.startsWith("play/"))) {
      await page.go(`${server.url}/${from}`);
      const links = await page.run(() => [...document.querySelectorAll("main a")].map((a) => (a.origin === location.origin ? a.pathname : "")));
      for (const [number, path] of links.entries()) {
        if (!/^\/[^/]*\.html$/.test(path) || seen.has(path.slice(1))) continue;
        await page.go(`${server.url}/${from}`);
        await click("main a", number);
      }
    }
    console.log(`${seen.size} pages at ${width} pixels`);
    await page.close();
  }
} finally {
  await browser.close();
  await server.close();
}
wrong.forEach((fault) => console.log(fault));
process.exitCode = wrong.length > 0 ? 1 : 0;
