import { env } from "node:process";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";

const launchTries = 30;
/** A guard against what never shows, in milliseconds: a busy machine may take as long as that. */
const hangMs = Number(env["BROWSER_HANG_MS"] ?? 300_000);

/**
 * Starts a headless Chromium: that of CHROMIUM_PATH, or on Linux the one of the packages, with the libraries
 * that a bare machine lacks.
 */
export async function startBrowser(): Promise<Browser> {
  const args =
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking " +
    "--disable-component-update --disable-sync --disable-lcd-text";
  if (env["CHROMIUM_PATH"] !== undefined) {
    return chromium.launch({ executablePath: env["CHROMIUM_PATH"], args: args.split(" ") });
  }
  const before = { ...env };
  env["AWS_EXECUTION_ENV"] = "AWS_Lambda_nodejs22.x"; // makes the package unpack its libraries and set their path
  const { default: packaged } = await import("@sparticuz/chromium");
  const executablePath = await packaged.executablePath();
  const libraries = env["LD_LIBRARY_PATH"] ?? "";
  for (const name of Object.keys(env)) if (!(name in before)) delete env[name];
  Object.assign(env, before);
  const options = { executablePath, args: args.split(" ") };
  const launch = () =>
    chromium.launch({ ...options, env: { ...before, LD_LIBRARY_PATH: libraries } });
  for (let tries = 1; ; tries++) {
    try {
      return await launch();
    } catch (error) {
      // Another test may still unpack the same file.
      if (tries === launchTries || !String(error).includes("ETXTBSY")) throw error;
      await new Promise((next) => setTimeout(next, 1000));
    }
  }
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
