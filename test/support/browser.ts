import { env } from "node:process";
import { buffer } from "node:stream/consumers";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type BrowserServer,
  chromium,
  type Download,
  type LaunchOptions,
  type Page,
} from "playwright-core";

/** A guard against what never shows, in milliseconds: a busy machine may take as long as that. */
const hangMs = Number(env["BROWSER_HANG_MS"] ?? 300_000);

/** Returns the browser of the whole run, or a new one where none serves: see `serveBrowser`. */
export async function startBrowser(): Promise<Browser> {
  const endpoint = env["BROWSER_ENDPOINT"];
  if (endpoint !== undefined) return chromium.connect(endpoint);
  return chromium.launch(await findBrowser());
}

/** Starts a browser for `startBrowser` of the processes that this one starts. Each test opens contexts of its own in it. */
export async function serveBrowser(): Promise<BrowserServer> {
  const server = await chromium.launchServer({ ...(await findBrowser()), host: "127.0.0.1" });
  env["BROWSER_ENDPOINT"] = server.wsEndpoint();
  return server;
}

/**
 * Finds a headless Chromium: that of CHROMIUM_PATH, or on Linux the one of the packages, with the libraries
 * that a bare machine lacks.
 */
async function findBrowser(): Promise<LaunchOptions> {
  const args = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking " +
    "--disable-component-update --disable-sync --disable-lcd-text"
  ).split(" ");
  const ownPath = env["CHROMIUM_PATH"];
  if (ownPath !== undefined) return { executablePath: ownPath, args };
  const before = { ...env };
  env["AWS_EXECUTION_ENV"] = "AWS_Lambda_nodejs22.x"; // makes the package unpack its libraries and set their path
  const { default: packaged } = await import("@sparticuz/chromium");
  const executablePath = await packaged.executablePath();
  const libraries = env["LD_LIBRARY_PATH"] ?? "";
  for (const name of Object.keys(env)) if (!(name in before)) delete env[name];
  Object.assign(env, before);
  return { executablePath, args, env: { ...before, LD_LIBRARY_PATH: libraries } };
}

/** Opens a context whose waits are limited only by a guard against what never shows. */
export async function openContext(
  browser: Browser,
  options?: BrowserContextOptions,
): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(hangMs);
  return context;
}

/** Opens a page in a context of its own. */
export async function openPage(browser: Browser, options?: BrowserContextOptions): Promise<Page> {
  return (await openContext(browser, options)).newPage();
}

/** Returns the text of a downloaded file, which lies where the browser runs. */
export async function readDownload(download: Download): Promise<string> {
  return (await buffer(await download.createReadStream())).toString(); // with the mark of its encoding
}
