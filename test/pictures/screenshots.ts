/**
 * `npm run screenshots` makes the pictures of README.md and docs from the operator's page as it is: over the API with a
 * day of calls in memory, at a fixed time in a fixed zone, so that a picture changes only with the page.
 */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { createTestApi } from "../support/api.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { startBrowser } from "../support/browser.ts";
import { startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { printHelp } from "../../infra/cli/help.ts";

printHelp(`npm run screenshots

Makes the pictures of README.md and docs anew, from the operator's page over a day of calls in memory.`);

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
  /** Does what leads to the picture. */
  before?(page: Page): Promise<void>;
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
  {
    name: "forecast",
    address: "forecast",
    height: 640,
    ready: "Calls by the hour",
    before: forecastLeads,
  },
];

/** Has 9,000 calls forecast that are sent in the evening, some of which are refused, and moves the answer into sight. */
async function forecastLeads(page: Page): Promise<void> {
  const areas = ["212", "305", "312", "415"]; // New York, Miami, Chicago, San Francisco
  const leads = Array.from({ length: 9000 }, (_, n) => ({
    phone_number: `+1${areas[n % 4]}555${String(n).padStart(4, "0")}`,
    agent_id: n % 90 === 7 ? "agent_unknown" : "agent_sales",
  }));
  const buffer = Buffer.from(JSON.stringify(leads));
  const mimeType = "application/json";
  const field = page.getByLabel(/^Drop a file of calls here/);
  await field.setInputFiles({ name: "leads.json", mimeType, buffer });
  await page.getByLabel("Client").fill("crm");
  await page.getByLabel(/^Sent at/).fill("2026-11-23T19:30");
  await page.getByRole("button", { name: "Forecast" }).click();
  const outcomes = page.getByRole("heading", { name: "What becomes of 9,000 calls" });
  await outcomes.waitFor();
  await outcomes.evaluate((element) => element.scrollIntoView());
}

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };
const api = createTestApi({ environment, now: () => now });
await fillWithADay(api.ledger, api.documents, now);
const server = await startConsoleServer(api);
const browser = await startBrowser();
await mkdir(folder, { recursive: true });
for (const file of await readdir(folder)) if (file.endsWith(".png")) await rm(join(folder, file));
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
  for (const { name, address, height, ready, before } of shots) {
    await page.setViewportSize({ width: 1040, height });
    await page.goto(`${server.address}/operator#/${address}`);
    await before?.(page);
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
