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
import { colorSchemes, describePictures, manifestText, pictureFile, root } from "./manifest.ts";
import { shots } from "./shots.ts";

printHelp(`npm run screenshots

Makes the pictures of README.md and docs anew, from the operator's page over a day of calls in memory.`);

const folder = dirname(join(root, pictureFile("any")));
/** A Monday, twenty past two in the afternoon in New York. */
const now = Date.UTC(2026, 10, 23, 19, 20);
/** Maximum size of all pictures together. */
const bytesMax = 750_000;

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };
const api = createTestApi({ environment, now: () => now });
await fillWithADay(api.ledger, api.documents, now);
const server = await startConsoleServer(api);
const browser = await startBrowser();
await mkdir(folder, { recursive: true });
for (const colorScheme of colorSchemes) {
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
    // A call under review can be decided once it was in sight for a moment.
    await page.locator("main button:disabled").first().waitFor({ state: "detached" });
    await page.mouse.move(0, 0);
    await page.evaluate("document.activeElement?.blur()");
    await page.screenshot({
      path: join(root, pictureFile(`${name}-${colorScheme}`)),
      animations: "disabled",
    });
  }
  await context.close();
}
await browser.close();
await server.stop();
const made = new Set(
  shots.flatMap(({ name }) =>
    colorSchemes.map((scheme) => join(root, pictureFile(`${name}-${scheme}`))),
  ),
);
for (const file of await readdir(folder)) {
  const former = join(folder, file);
  if (file.endsWith(".png") && !made.has(former)) await rm(former);
}
const { path, text } = manifestText(await describePictures());
await writeFile(path, text);

let bytes = 0;
for (const file of await readdir(folder))
  if (file.endsWith(".png")) bytes += (await stat(join(folder, file))).size;
console.log(`${folder}: ${bytes.toLocaleString("en")} bytes`);
if (bytes > bytesMax) throw new Error(`the pictures are larger than ${bytesMax} bytes together`);
