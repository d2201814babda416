import { env } from "node:process";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApi } from "../support/api.ts";
import { axeFindings } from "../support/axe.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { openPage, startBrowser } from "../support/browser.ts";
import { type ConsoleServer, startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { fillWithMany } from "../support/many-calls.ts";
import { until } from "../support/service.ts";

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };
/** Calls beside those of a believable day: 100,000 where there is time for them. */
const manyCalls = Number(env["CONSOLE_CALLS"] ?? "0");
const widths = [390, 1024, 1440];
/** Maximum addresses of one test. */
const addressesMax = 30;

/** Texts of values that are missing, and of counts with a wrong noun. */
const wrong =
  /\b(NaN|undefined|null|Infinity|Invalid Date)\b|\[object |(?<![\d.,])1 (calls|requests|numbers|minutes|hours|times|campaigns)\b|(?<![\d.,])0 (calls|requests|numbers|campaigns) |,\s*,/;

/**
 * Finds what lies at a wrong place: fields and buttons that stick out of their card; tables that are wider than theirs on a
 * wide desk or a phone; buttons of rows that a scroll hides, and names that it takes away; buttons below a long text
 * instead of beside it; cells of a phone's cards without the name of their column; needs beside an empty column.
 */
const findOutside = `(() => {
  const boxOf = (one) => one.getBoundingClientRect();
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  const isPhone = innerWidth <= 768;
  const found = (what, elements) => elements.map((one) => what + ": " + (one.name || one.ariaLabel || one.textContent));
  return [
    ...found("outside", seen(".card :is(button, select, input, textarea)")
      .filter((one) => boxOf(one).right > boxOf(one.closest(".card")).right - 8)),
    ...found("scrolls", seen(".card .scroll:has(table)")
      .filter((one) => (isPhone || innerWidth >= 1440) && one.scrollWidth > one.clientWidth + 1)),
    ...found("out of sight", seen(".scroll button")
      .filter((one) => boxOf(one).right > boxOf(one.closest(".scroll")).right)),
    ...found("goes with a scroll", seen(".scroll tbody th")
      .filter((one) => !isPhone && getComputedStyle(one).position !== "sticky")),
    ...found("below its text", seen(".rows li > button")
      .filter((one) => !isPhone && boxOf(one).top >= boxOf(one.parentElement.firstElementChild).bottom)),
    ...found("over its text", seen(".rows li > button")
      .filter((one) => !isPhone && boxOf(one).left < boxOf(one.parentElement.firstElementChild).right)),
    ...found("without a name", seen(".scroll tbody :is(th, td)")
      .filter((one) => isPhone && one.innerText.trim() !== "" && getComputedStyle(one, "::before").content.length < 3)),
    ...found("squeezed", seen(".need > p")
      .filter((one) => isPhone && one.clientWidth < 0.9 * one.parentElement.clientWidth)),
  ];
})()`;

let browser: Browser | undefined;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

describe.each(["no call", "a day of calls"])("each view with %s", (data) => {
  let server: ConsoleServer;
  let page: Page;
  let underWay = 0;
  const complaints: string[] = [];

  beforeAll(async () => {
    const api = createTestApi({ environment });
    const now = Date.now();
    if (data !== "no call") {
      await fillWithADay(api.ledger, api.documents, now);
      await fillWithMany(manyCalls, { ...api, now });
    }
    server = await startConsoleServer(api);
    if (browser === undefined) throw new Error("there is no browser");
    page = await openPage(browser, { viewport: { width: 1440, height: 900 } });
    page.setDefaultTimeout(60_000);
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", () => (underWay += 1));
    page.on("requestfinished", () => (underWay -= 1));
    page.on("requestfailed", () => (underWay -= 1));
    await page.goto(`${server.address}/operator`);
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Views" }).waitFor();
  });
  afterAll(async () => {
    await page.close();
    await server.stop();
  });

  /** Opens an address of the page, and waits for all that it shows. */
  async function open(address: string): Promise<void> {
    await page.goto(`${server.address}/operator${address}`);
    await page.getByRole("main").waitFor();
    await until(async () => {
      if (underWay > 0) return false;
      await page.waitForTimeout(30); // an answer may lead to the next question
      return underWay === 0 && (await page.getByText("Loading …").count()) === 0;
    });
  }
  const linksIn = (part: string): Promise<string[]> =>
    page.evaluate(
      `[...document.querySelectorAll("${part} a[href^='#/']")].map((link) => link.getAttribute("href"))`,
    );
  /** Kind of an address: its view, and whether it shows one thing. Two of a kind differ only by that thing. */
  function kindOf(address: string): string {
    const [path = "", query = ""] = address.split("?");
    const [, view = "", thing] = path.split("/");
    const isThing = thing !== undefined || new URLSearchParams(query).has("call");
    return `${view}${isThing ? ", one" : ""}`;
  }
  /** Returns what is wrong with the page as it stands. */
  async function flaws(): Promise<string[]> {
    const found: string[] = [];
    for (const [index, width] of widths.entries()) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        if (overflow !== 0) found.push(`${width} px: ${String(overflow)} px too wide`);
        const outside = await page.evaluate<string[]>(findOutside);
        found.push(...outside.map((one) => `${width} px: ${one}`));
        // A phone and a wide desk in both colours: what lies between differs from neither but in its width.
        if (index !== 1) {
          const findings = await axeFindings(page);
          found.push(...findings.map((one) => `${width} px, ${colorScheme}: ${one}`));
        }
      }
    }
    return found;
  }

  it("is free of flaws at each width, light and dark, and says nothing wrong", async () => {
    const addresses = await linksIn("nav");
    expect(addresses.length).toBeGreaterThanOrEqual(8);
    for (let index = 0; index < Math.min(addresses.length, addressesMax); index++) {
      const address = addresses[index] ?? "";
      await open(address);
      const text = await page.getByRole("main").innerText();
      expect([address, wrong.exec(text)?.[0], await flaws()]).toEqual([address, undefined, []]);
      for (const link of await linksIn("main")) {
        const kind = kindOf(link);
        if (!addresses.some((one) => kindOf(one) === kind)) addresses.push(link);
      }
    }
    const kinds = addresses.map(kindOf);
    if (data !== "no call")
      expect(kinds).toEqual(expect.arrayContaining(["calls, one", "requests, one"]));
    expect(complaints).toEqual([]);
  });
});
