import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { callStates } from "#shared/calls/states.ts";
import { resultsKeyOf, roundKeyOf } from "#shared/policy/split-rounds.ts";
import { createTestApi } from "../support/api.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { openPage, startBrowser } from "../support/browser.ts";
import { type ConsoleServer, startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { flawsOf } from "../support/axe.ts";

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };
/** The day's plan with a split, and ended calls as in the example of the interval's author. */
const arms = { agent_sales: 50, agent_survey: 50 };
const agents = { ...dayPlan.agents, agent_any: { split: arms, detectPoints: 20 } };
const splitPlan = { ...apiEnvironment, DIAL_PLAN: JSON.stringify({ ...dayPlan, agents }) };
const resultsOf = {
  agent_sales: { ended: 80, answered: 60, completed: 48 },
  agent_survey: { ended: 70, answered: 60, completed: 56 },
};

describe("the first page", () => {
  let browser: Browser;
  let server: ConsoleServer;
  let page: Page;
  let rows: CallRow[];
  beforeAll(async () => {
    browser = await startBrowser();
    const api = createTestApi({ environment });
    await fillWithADay(api.ledger, api.documents, Date.now());
    server = await startConsoleServer(api);
    const pages = await Promise.all(
      callStates.map((state) => api.ledger.list({ state, limit: 5000 })),
    );
    rows = pages.flatMap((one) => one.rows);
  });
  beforeEach(async () => {
    page = await openPage(browser, { viewport: { width: 1024, height: 900 } });
    await page.goto(`${server.address}/operator`);
    await page.getByLabel("Operator's token").fill(tokens.operator);
  });
  afterEach(() => page.close());
  afterAll(async () => {
    await browser.close();
    await server.stop();
  });
  const signIn = async () => {
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: "Overview" }).waitFor();
  };
  const count = (holds: (row: CallRow) => boolean) => rows.filter(holds).length;

  it("shows what became of the day's calls, in numbers, bars and rows that agree with the ledger", async () => {
    await signIn();
    const totals = page.getByRole("list", { name: "Results" });
    await totals.waitFor();
    const number = async (name: string) => {
      const fact = totals
        .getByRole("listitem")
        .filter({ has: page.getByText(name, { exact: true }) });
      return Number((await fact.locator("b").innerText()).replace(",", ""));
    };
    const withResult = (status: string) => count(({ result }) => result?.status === status);
    expect({
      answered: await number("Answered"),
      voicemail: await number("Voicemail"),
      noAnswer: await number("No answer"),
      busy: await number("Busy"),
      declined: await number("Declined"),
    }).toEqual({
      answered: withResult("completed"),
      voicemail: withResult("voicemail"),
      noAnswer: withResult("no_answer"),
      busy: withResult("busy"),
      declined: withResult("declined"),
    });
    // Each call stands in one bar: what was placed, and then answered, is not there twice.
    const legend = page.locator(".legend li");
    const sums = (await legend.allInnerTexts()).map((text) =>
      Number((/([\d,]+)$/.exec(text)?.[1] ?? "").replace(",", "")),
    );
    const ended = count(({ state }) => ["PLACED", "REJECTED", "CANCELLED"].includes(state));
    expect(sums.reduce((sum, one) => sum + one, 0)).toBe(ended);
    const table = page.getByRole("region", { name: "Results by agent" });
    const ofSales = ({ agentId, state }: CallRow) =>
      agentId === "agent_sales" && state === "PLACED";
    await table
      .getByRole("row", { name: `agent_sales ${count(ofSales).toLocaleString("en")}` })
      .waitFor();
    expect(await flawsOf(page)).toEqual([]);
  });

  it("has bars of five minutes for the last three hours, with units", async () => {
    await signIn();
    await page.getByText("Number of calls by the hour.").waitFor();
    await page.getByLabel("Period").selectOption("3 hours");
    await page.getByText("Number of calls by 5 minutes.").waitFor();
    await page.getByText("As a table").first().click();
    const starts = await page.getByRole("rowheader").allInnerTexts();
    expect(starts.filter((text) => /:\d[05]( [AP]M)?$/.test(text)).length).toBeGreaterThan(5);
    expect(await flawsOf(page)).toEqual([]);
    await page.getByLabel("Group by").selectOption("client");
    await page.getByRole("region", { name: "Results by client" }).waitFor();
  });

  it("compares the arms of a split, and speaks of a difference only with the verdict", async () => {
    const api = createTestApi({ environment: splitPlan });
    const { documents } = api;
    const own = await startConsoleServer(api);
    const since = Date.now() - 60_000;
    const round = { key: "0123456789abcdef", arms, since };
    const write = (version: string, seen: string | null, value: object) => {
      const next = {
        ...roundKeyOf("agent_any"),
        version,
        value: { ...round, ...value },
        expiresAt: null,
      };
      return documents.write([{ next, seen }]);
    };
    await write("v1", null, {});
    await documents.addAll(
      Object.entries(resultsOf).map(([arm, counters]) => ({
        ...resultsKeyOf({ name: "agent_any", since }, arm),
        kind: "split-results" as const,
        counters,
        expiresAt: since + 1e9,
      })),
    );
    page.setDefaultTimeout(60_000);
    await page.goto(`${own.address}/operator`);
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await signIn();
    await page.getByRole("link", { name: "Accounts and agents" }).click();
    const split = page.getByRole("region", { name: "Split agent_any" });
    await split.getByText("The verdict comes with 99 ended calls of each arm").waitFor();
    await split.getByRole("row", { name: "agent_sales 50 80 60 48 60 %" }).waitFor();
    await split.getByRole("row", { name: "agent_survey 50 70 60 56 80 %" }).waitFor();
    expect(await split.innerText()).not.toContain("percentage points");
    expect(await flawsOf(page)).toEqual([]);
    await write("v2", "v1", { verdict: { at: since, arms: resultsOf } });
    await page.reload();
    const verdict =
      "agent_survey completes more calls than agent_sales, by 5.2 to 33.4 percentage points.";
    await split.getByText(verdict).waitFor();
    await split.getByText("The arms also differ in agent, from, provider.").waitFor();
    await own.stop();
  });

  it("lists campaigns, and opens one with its progress, results and requests", async () => {
    await signIn();
    await page.getByRole("link", { name: "Campaigns", exact: true }).click();
    await page.getByRole("heading", { level: 2, name: "Campaigns" }).waitFor();
    await page.getByRole("row", { name: /^How was your stay\? research/ }).waitFor();
    expect(await flawsOf(page)).toEqual([]);
    await page.getByRole("link", { name: "How was your stay?" }).click();
    await page.getByRole("heading", { level: 3, name: "How was your stay?" }).waitFor();
    await page.getByText("360 in 1 request").waitFor();
    await page.getByText("91 waiting").waitFor();
    await page.getByRole("link", { name: "360 calls" }).waitFor();
    expect(await flawsOf(page)).toEqual([]);
  });

  it("says how far back campaigns and their results go", async () => {
    await page.route(/\/operator\/campaigns?(\?|$)/, async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      const json = Array.isArray(body.campaigns)
        ? { ...body, campaigns: [] }
        : { ...body, first_accepted_at: "2020-01-01T10:00:00.000Z" };
      await route.fulfill({ response: answer, json });
    });
    await signIn();
    await page.getByRole("link", { name: "Campaigns", exact: true }).click();
    await page.getByText(/^No campaign has had calls since /).waitFor();
    const name = encodeURIComponent("How was your stay?");
    await page.goto(`${server.address}/operator#/campaigns/${name}?client=research`);
    await page.getByText(/^Results and tries are counted since .* are missing\.$/).waitFor();
    expect(await flawsOf(page)).toEqual([]);
  });

  it("says that the results could not be read, and shows the rest", async () => {
    await page.route(/\/operator\/results/, (route) =>
      route.fulfill({ status: 503, json: { detail: "The ledger cannot be reached." } }),
    );
    await signIn();
    await page.getByText("The results could not be read: The ledger cannot be reached.").waitFor();
    await page.getByRole("list", { name: "Now" }).getByText("Placed today").waitFor();
    expect(await page.getByText(/No call has ended/).count()).toBe(0);
  });

  it("says that what needs a person could not be read, wholly or in part", async () => {
    const path = /\/operator\/needs/;
    await page.route(path, (route) =>
      route.fulfill({ status: 503, json: { detail: "The ledger cannot be reached." } }),
    );
    await signIn();
    await page.getByText(/^What needs a person could not be read: The ledger/).waitFor();
    expect(await page.getByText("Nothing does.").count()).toBe(0);
    await page.unroute(path);
    await page.route(path, (route) =>
      route.fulfill({ json: { needs: [], unread: ["breakers", "held"] } }),
    );
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByText("Circuit breakers could not be read").waitFor();
    expect(await page.getByText("Nothing does.").count()).toBe(0);
  });

  it("lists what needs a person, in the title and the navigation too, and resumes it", async () => {
    await page.addInitScript(`
      window.notified = [];
      window.Notification = class {
        static permission = "default";
        static async requestPermission() { return (this.permission = "granted"); }
        constructor(title, { body }) { window.notified.push(title + " | " + body); }
      };`);
    await page.reload();
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await signIn();
    const needs = page.getByRole("region", { name: "What needs a person" });
    await needs.getByText("91 calls held of research").waitFor();
    await needs.getByText("310 calls held of crm").waitFor();
    await needs.getByText("7 calls to decide of research").waitFor();
    expect(await page.title()).toMatch(/^\(3\) Overview · /);
    const navigation = page.getByRole("navigation", { name: "Views" });
    await navigation.getByRole("link", { name: "Review 7 need a person" }).waitFor();
    expect(await flawsOf(page)).toEqual([]);
    // Nobody is notified who has not asked for it, nor of what was there before.
    expect(await page.evaluate("window.notified")).toEqual([]);
    await needs.getByRole("button", { name: "Notify me of new ones" }).click();
    await needs.getByRole("button", { name: "Do not notify me any more" }).waitFor();
    const value = {
      state: "open" as const,
      code: "http_401",
      openedAt: Date.now(),
      probeAt: Date.now(),
      intervalMs: 60_000,
      cause: "account_refused" as const,
      room: 0,
      blamed: [],
    };
    const next = { kind: "breaker", key: "account:vapi", version: "v", value, expiresAt: null };
    await server.api.documents.write([{ next: { ...next, kind: "breaker" }, seen: null }]);
    await needs.getByRole("button", { name: "Resume agent agent_paris" }).click();
    await needs.getByText(/The code says: the credentials are wrong/).waitFor();
    await needs.getByText("310 calls held of crm").waitFor({ state: "detached" });
    expect(await page.evaluate("window.notified")).toEqual([
      expect.stringMatching(/account vapi \| The provider refuses the account/),
    ]);
  });
});
