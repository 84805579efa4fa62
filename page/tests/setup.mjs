// What the tests share: the built page, served with the policy of `toolglot serve`, in one Chromium.
//
// TOOLGLOT_CHROMIUM is the program.
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, serve } from "./browser.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
export const root = fileURLToPath(new URL("../../", import.meta.url));
export const FOLDERS = { "/tests/": here, "/vectors/": `${root}tests/vectors`, "/": `${root}page/dist` };

/** The page in a browser; both end with the tests of the file. */
export async function started(options) {
  const server = await serve(FOLDERS, options);
  const browser = await launch(process.env.TOOLGLOT_CHROMIUM ?? "chromium");
  after(async () => {
    await browser.close();
    await server.close();
  });
  return { server, browser, url: server.url };
}

/** Opens the page and waits until it works. */
export async function opened({ browser, url }, path = "/", options = {}) {
  const page = await browser.page(options);
  if (options.theme) await page.theme(options.theme);
  await page.go(url + path);
  await page.until(() => document.documentElement?.dataset.ready);
  return page;
}
