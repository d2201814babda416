/**
 * `npm run screenshots` makes the pictures of README.md and docs from the operator's page as it is: over the API with a
 * day of calls in memory, at a fixed time in a fixed zone, so that a picture changes only with the page.
 */
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createTestApi } from "../support/api.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { startBrowser } from "../support/browser.ts";
import { startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { printHelp } from "#infra/cli/help.ts";
import {
  colorSchemes,
  describePictures,
  manifestText,
  pictureFile,
  picturesOf,
  root,
} from "./manifest.ts";
import { shots, windows } from "./shots.ts";

printHelp(`npm run screenshots

Makes the pictures of README.md and docs anew, from the operator's page over a day of calls in memory.`);

const folder = dirname(join(root, pictureFile("any")));
/** A Monday, twenty past two in the afternoon in New York. */
const now = Date.UTC(2026, 10, 23, 19, 20);
/** Maximum size of all pictures together: fourteen views, each in four pictures of 36 kB on average. */
const bytesMax = 2_000_000;
/** Quality of WebP at which small text is as sharp as in PNG, at a third of its size. */
const quality = 57;

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };
const api = createTestApi({ environment, now: () => now });
await fillWithADay(api.ledger, api.documents, now);
const server = await startConsoleServer(api);
await makeClient();
const browser = await startBrowser();
await mkdir(folder, { recursive: true });
for (const viewport of windows)
  for (const colorScheme of colorSchemes) await takeAll(viewport, colorScheme);
await browser.close();
await server.stop();
const made = new Set(
  shots.flatMap(({ name }) => picturesOf(name).map((one) => join(root, pictureFile(one)))),
);
for (const file of await readdir(folder)) {
  const former = join(folder, file);
  if (/\.(png|webp)$/.test(file) && !made.has(former)) await rm(former);
}
const { path, text } = manifestText(await describePictures());
await writeFile(path, text);

let bytes = 0;
for (const file of made) bytes += (await stat(file)).size;
console.log(`${folder}: ${bytes.toLocaleString("en")} bytes`);
if (bytes > bytesMax) throw new Error(`the pictures are larger than ${bytesMax} bytes together`);

/** Makes a client and its token, as an operator does. */
async function makeClient(): Promise<void> {
  const headers = {
    authorization: `Bearer ${tokens.operator}`,
    "content-type": "application/json",
  };
  for (const [method, at, body] of [
    ["PUT", "clients/crm-desk", { agents: ["agent_sales"], quota: { calls_per_day: 5000 } }],
    ["POST", "clients/crm-desk/tokens", { rights: ["call", "read"] }],
  ] as const) {
    const init = { method, headers, body: JSON.stringify(body) };
    const { ok, status } = await fetch(`${server.address}/operator/${at}`, init);
    if (!ok) throw new Error(`${at} answers ${status}`);
  }
}

/** Takes the pictures of all views in one window and colour scheme. */
async function takeAll(
  viewport: (typeof windows)[number],
  colorScheme: (typeof colorSchemes)[number],
): Promise<void> {
  const context = await browser.newContext({
    viewport,
    colorScheme,
    timezoneId: "America/New_York",
    locale: "en-GB",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await page.clock.setFixedTime(now);
  await page.goto(`${server.address}/operator`);
  await page.getByLabel("Operator's token").fill(tokens.operator);
  await page.keyboard.press("Enter");
  for (const { name, address, ready, before } of shots) {
    await page.goto(`${server.address}/operator#/${address}`);
    await before?.(page);
    await page.getByText(ready).first().waitFor();
    // A call under review can be decided once it was in sight for a moment.
    if (name === "review")
      await page.locator("main button:disabled").first().waitFor({ state: "detached" });
    await page.getByText("Loading …").first().waitFor({ state: "detached" });
    await page.mouse.move(0, 0);
    await page.evaluate("document.activeElement?.blur()");
    const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality });
    const file = pictureFile(`${name}-${viewport.width}-${colorScheme}`);
    await writeFile(join(root, file), Buffer.from(data, "base64"));
  }
  await context.close();
}
