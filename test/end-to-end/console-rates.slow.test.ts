import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { env } from "node:process";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toPace } from "#shared/telephony/rate.ts";
import { createTestApi } from "../support/api.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { openContext, startBrowser } from "../support/browser.ts";
import { startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { until } from "../support/service.ts";

/** Requests a minute of the page before it was made anew, counted as below on its commit, d2ed0245; null: there was no such view. */
const before: Record<string, number | null> = {
  "overview without a call": 28,
  overview: 20,
  requests: 11,
  request: 15,
  campaigns: 6,
  campaign: 7,
  review: 17,
  calls: 11,
  call: 19,
  send: 5,
  forecast: 5,
  accounts: 18,
  "do-not-call": 5,
  clients: null,
  incidents: null,
  audit: 9,
};
/** Maximum of a view that there was not. */
const newMax = 25;

const readme = resolve(import.meta.dirname, "../../docs/pictures/README.md");
const told = /(?<=<!-- rates -->\n\n)[^]*?(?=\n\n<!-- \/rates -->)/;

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** Signs in, and has time pass by steps alone, however busy the machine is. */
async function openPaused(api: ReturnType<typeof createTestApi>) {
  const server = await startConsoleServer(api);
  const context = await openContext(browser, { viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.clock.install();
  await page.addInitScript(counting);
  await page.goto(`${server.address}/operator#/overview`);
  await page.getByLabel("Operator's token").fill(tokens.operator);
  await page.keyboard.press("Enter");
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  const answered = () => until(() => page.evaluate<boolean>("rates.areAnswered()"));
  await answered(); // a request under way would have lasted longer than its limit
  await page.clock.pauseAt(Date.now() + 3_600_000);
  return {
    page,
    open: (address: string) => page.goto(`${server.address}/operator#/${address}`),
    async pass(seconds: number) {
      await answered();
      for (let second = 0; second < seconds; second += 5) {
        await page.evaluate("rates.hold()");
        await page.clock.runFor(5_000);
        await page.evaluate("rates.release()");
        await answered();
      }
    },
    async close() {
      await context.close();
      await server.stop();
    },
  };
}

/** Opens each view, and counts what it asks in a minute of the browser's clock. */
async function countPerMinute(
  api: ReturnType<typeof createTestApi>,
  addresses: Readonly<Record<string, string>>,
): Promise<Record<string, number>> {
  const { page, open, pass, close } = await openPaused(api);
  const counted: Record<string, number> = {};
  for (const [view, address] of Object.entries(addresses)) {
    await open(address);
    await pass(10); // a view reads more as it opens
    const begun = await page.evaluate<number>("rates.asked");
    await pass(60); // every interval of an open view is a part of a minute
    counted[view] = (await page.evaluate<number>("rates.asked")) - begun;
  }
  await close();
  return counted;
}

/**
 * Has a page count its own requests: an event of the browser's may come after the step in which it was sent.
 * Answers come between steps alone, as each begins an interval, which a quick machine would begin earlier.
 */
const counting = `
  let underWay = 0;
  let held = Promise.withResolvers();
  held.resolve();
  globalThis.rates = {
    asked: 0,
    hold: () => { held = Promise.withResolvers(); },
    release: () => held.resolve(),
    areAnswered: async () => {
      await new Response("{}").json(); // the page has read its own answers by now
      return underWay === 0;
    },
  };
  const send = globalThis.fetch;
  globalThis.fetch = async (...asked) => {
    rates.asked += 1;
    underWay += 1;
    try {
      const answer = await send(...asked);
      const text = await answer.text();
      await held.promise;
      return new Response(text, answer);
    } finally {
      underWay -= 1;
    }
  };`;

async function createDay() {
  const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };
  const api = createTestApi({ environment });
  await fillWithADay(api.ledger, api.documents, Date.now());
  return api;
}

describe("an open view", () => {
  it("sends no more requests in a minute than documented, nor than the former page", async () => {
    const api = await createDay();
    const [waiting] = (await api.ledger.list({ state: "WAITING", limit: 1 })).rows;
    const id = waiting?.id ?? "";
    const own: Record<string, string> = {
      request: `requests/${id.slice(5, 31)}`,
      campaign: "campaigns/November%20offers?client=crm",
      call: `calls?state=WAITING&call=${id}`,
    };
    const { "overview without a call": _, ...others } = before;
    const counted = {
      ...(await countPerMinute(createTestApi(), { "overview without a call": "overview" })),
      ...(await countPerMinute(
        api,
        Object.fromEntries(Object.keys(others).map((view) => [view, own[view] ?? view])),
      )),
    };
    const lines = Object.entries(before).map(
      ([view, former]) => `- ${view}: ${counted[view]} (${former ?? "new"})`,
    );
    const text = await readFile(readme, "utf8");
    if (env["MEASURE"] === "1") await writeFile(readme, text.replace(told, lines.join("\n")));
    else expect(lines).toEqual(told.exec(text)?.[0].split("\n"));
    const tooMany = Object.entries(counted).filter(
      ([view, count]) => count > (before[view] ?? newMax),
    );
    expect(tooMany).toEqual([]);
  });

  it("shows how far a pace is used as young as the calls that wait for it", async () => {
    const api = await createDay();
    const { page, open, pass, close } = await openPaused(api);
    await open("accounts");
    await pass(10);
    const row = page.getByRole("row", { name: /vapi/ }).first();
    await until(async () => {
      await page.clock.runFor(100); // its script may still be loading
      return await row.isVisible();
    });
    expect(await row.textContent()).not.toContain("fully used");
    const window = { notBefore: Date.now(), notAfter: Date.now() + 9e6, count: 15_000 };
    await api.documents.takePermits({ kind: "pace", key: "vapi" }, toPace(2, 1), window);
    await pass(20);
    expect(await row.textContent()).toContain("fully used, free");
    await close();
  });
});
