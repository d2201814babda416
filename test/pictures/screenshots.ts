/**
 * `npm run screenshots` makes the pictures of README.md and docs from the operator's page as it is: over the API with a
 * day of calls in memory, at a fixed time in a fixed zone, so that a picture changes only with the page.
 */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createTestApi } from "../support/api.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { startBrowser } from "../support/browser.ts";
import { startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";

const folder = resolve(import.meta.dirname, "../../docs/pictures");
/** A Monday, twenty past two in the afternoon in New York. */
const now = Date.UTC(2026, 10, 23, 19, 20);
/** Maximum size of all pictures together. */
const bytesMax = 600_000;

interface Shot {
  name: string;
  address: string;
  /** Height of the window. */
  height: number;
  /** Text that is there once everything is. */
  ready: string;
}

const shots: Shot[] = [
  { name: "overview", address: "overview", height: 740, ready: "hours:countries.FR" },
  { name: "requests", address: "requests", height: 560, ready: "600 calls" },
  {
    name: "review",
    address: "review",
    height: 720,
    ready: "There is no other call to this number.",
  },
];

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };
const api = createTestApi({ environment, now: () => now });
await fillWithADay(api.ledger, api.documents, now);
const server = await startConsoleServer(api);
const browser = await startBrowser();
await mkdir(folder, { recursive: true });
for (const file of await readdir(folder)) await rm(join(folder, file));
for (const colorScheme of ["light", "dark"] as const) {
  const context = await browser.newContext({
    viewport: { width: 1040, height: 700 },
    colorScheme,
    timezoneId: "America/New_York",
    locale: "en-GB",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  await page.clock.setFixedTime(now);
  await page.goto(`${server.address}/operator`);
  await page.getByLabel("Operator's token").fill(tokens.operator);
  await page.keyboard.press("Enter");
  for (const { name, address, height, ready } of shots) {
    await page.setViewportSize({ width: 1040, height });
    await page.goto(`${server.address}/operator#/${address}`);
    await page.getByText(ready).first().waitFor();
    await page.mouse.move(0, 0);
    await page.evaluate("document.activeElement?.blur()");
    await page.screenshot({
      path: join(folder, `${name}-${colorScheme}.png`),
      animations: "disabled",
    });
  }
  await context.close();
}
await browser.close();
await server.stop();

let bytes = 0;
for (const file of await readdir(folder)) bytes += (await stat(join(folder, file))).size;
console.log(`${folder}: ${bytes.toLocaleString("en")} bytes`);
if (bytes > bytesMax) throw new Error(`the pictures are larger than ${bytesMax} bytes together`);
