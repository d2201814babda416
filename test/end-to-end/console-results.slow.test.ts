import type { Browser, Locator, Page } from "playwright-core";
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
const splitPlan = {
  ...apiEnvironment,
  DIAL_PLAN: JSON.stringify({ ...dayPlan, agents, results: {} }),
};
const resultsOf = {
  agent_sales: { ended: 80, answered: 60, completed: 48 },
  agent_survey: { ended: 70, answered: 60, completed: 56 },
};

/** Sentences on what holds calls, with the calls under each. */
type Sentences = Record<string, number>;

function add(sums: Sentences, sentence: string, calls: number): Sentences {
  return { ...sums, [sentence]: (sums[sentence] ?? 0) + calls };
}

/** Reads a card's list of reasons. */
async function reasonsIn(card: Locator): Promise<Sentences> {
  const items = card.getByRole("list", { name: "Reasons" }).getByRole("listitem");
  await items.first().waitFor();
  let sums: Sentences = {};
  for (const text of await items.allInnerTexts()) {
    const [, sentence = "", calls = ""] = /^\s*(.*?)\s+(?:about )?([\d,]+)$/s.exec(text) ?? [];
    sums = add(sums, sentence, Number(calls.replace(",", "")));
  }
  return sums;
}

/** Reads the columns of a table that say how many calls wait, and why: `91: One reason.`, or one reason alone. */
async function reasonsOf(table: Locator, columns: { calls: number; why: number }) {
  const rows = table.locator("tbody tr");
  await rows.first().waitFor();
  let sums: Sentences = {};
  for (const row of await rows.all()) {
    const cell = (column: number) => row.locator("th, td").nth(column);
    const all = Number((await cell(columns.calls).innerText()).replace(",", ""));
    for (const block of await cell(columns.why).locator(".block").allInnerTexts()) {
      const [, own, sentence = ""] = /^(?:([\d,]+): )?(.*)$/.exec(block.trim()) ?? [];
      sums = add(sums, sentence, own === undefined ? all : Number(own.replace(",", "")));
    }
  }
  return sums;
}

const sumOf = (parts: readonly Sentences[]): Sentences =>
  parts
    .flatMap((part) => Object.entries(part))
    .reduce((sums, [sentence, calls]) => add(sums, sentence, calls), {});

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
    const round = { key: "0123456789abcdef", arms, detectPoints: 20, since };
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
    await split.getByRole("row", { name: "agent_sales 50 80 19" }).waitFor();
    expect(await split.innerText()).not.toMatch(/percentage points|Completed/);
    expect(await flawsOf(page)).toEqual([]);
    await write("v2", "v1", { verdict: { at: since, arms: resultsOf } });
    await page.reload();
    const verdict =
      "agent_survey completes more calls than agent_sales, by 5.2 to 33.4 percentage points.";
    await split.getByText(verdict).waitFor();
    await split.getByRole("row", { name: "agent_survey 50 70 29 60 56 80 %" }).waitFor();
    await split.getByText("The arms also differ in agent, from, provider.").waitFor();
    await own.stop();
  });

  it("says of every view's calls what holds them now, in one sentence with one count", async () => {
    const at = Date.now();
    const api = createTestApi({ environment, now: () => at });
    await fillWithADay(api.ledger, api.documents, at);
    const own = await startConsoleServer(api);
    const open = (place: string) => page.goto(`${own.address}/operator#/${place}`);
    await open("overview");
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await signIn();
    const all = await reasonsIn(page.getByRole("region", { name: "Why calls wait" }));
    expect(sumOf([all])).toEqual(all); // no sentence stands there twice
    expect(Object.keys(all).length).toBeGreaterThan(2);
    expect(Object.values(all).reduce((sum, one) => sum + one, 0)).toBe(1269);
    await open("accounts");
    const accounts = page.getByRole("region", { name: "Accounts and their pace" });
    expect(await reasonsOf(accounts, { calls: 2, why: 3 })).toEqual(all);
    const backlogs = page.getByRole("region", { name: "Backlogs" });
    expect(await reasonsOf(backlogs, { calls: 2, why: 3 })).toEqual(all);
    const why = page.getByRole("region", { name: "Why its calls wait" });
    const readEach = async (places: Readonly<Record<string, string>>) => {
      const read: Sentences[] = [];
      for (const [name, place] of Object.entries(places)) {
        await open(place);
        await page.getByText(name, { exact: true }).first().waitFor();
        read.push(await reasonsIn(why));
      }
      return sumOf(read);
    };
    const campaigns = {
      "November offers": "campaigns/November%20offers?client=crm",
      "How was your stay?": "campaigns/How%20was%20your%20stay%3F?client=research",
    };
    expect(await readEach(campaigns)).toEqual(all);
    const { rows: waiting } = await api.ledger.list({ state: "WAITING", limit: 5000 });
    const ids = [...new Set(waiting.map(({ id }) => id.slice(5, 31)))];
    expect(ids).toHaveLength(3);
    const requests = Object.fromEntries(ids.map((id) => [id, `requests/${id}`]));
    expect(await readEach(requests)).toEqual(all);
    await open("calls?state=WAITING");
    const found = page.getByRole("region", { name: "Calls found" }).locator("tbody tr");
    await found.nth(49).waitFor();
    const sentences = await found.locator("td:nth-child(3)").allInnerTexts();
    expect(sentences.filter((one) => !Object.hasOwn(all, one.trim()))).toEqual([]);
    // The reason of a call's last look stands neither above the list nor beside what holds it now.
    expect(await page.locator(".reasons").count()).toBe(0);
    await found.first().getByRole("link").click();
    const facts = page.getByRole("region", { name: /^Call call_/ }).locator("dl");
    await facts.getByText(sentences[0] ?? "?").waitFor();
    const terms = await facts.locator("dt").allInnerTexts();
    expect(terms.filter((term) => /^(Reason|Held now)$/.test(term))).toEqual(["Held now"]);
    await own.stop();
  });

  it("says how many wait where more do than are read, and of when that is", async () => {
    const about = { calls: 62_300, at: new Date(Date.now() - 600_000).toISOString() };
    await page.route(/\/operator\/why$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        json: { ...(await response.json()), is_whole: false, about },
      });
    });
    await signIn();
    const now = page.getByRole("list", { name: "Now" });
    await now
      .getByRole("link", { name: /^Waiting about 62,300 counted 1\d minutes ago/ })
      .waitFor();
    await page.getByText(/^What holds the first 1,269 calls now\..* About 62,300 waited/).waitFor();
  });

  it("says why the end of a campaign has moved, and links the account that takes its calls", async () => {
    const ends = [2.2, 4.2].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString());
    const waits = [{ reason: "pace", name: "vapi", seconds: 600 }];
    const paused = { reason: "paused", name: "agent agent_sales", seconds: 7200 };
    let read = 0;
    await page.route(/\/operator\/why\?/, async (route) => {
      const response = await route.fetch();
      const isLater = read++ > 0;
      const moved = {
        expected_end_at: ends[isLater ? 1 : 0],
        end_waits_for: isLater ? [...waits, paused] : waits,
      };
      await route.fulfill({ response, json: { ...(await response.json()), ...moved } });
    });
    await page.clock.install();
    await page.goto(
      `${server.address}/operator#/campaigns/${encodeURIComponent("November offers")}?client=crm`,
    );
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    const why = page.getByRole("region", { name: "Why its calls wait" });
    await why
      .getByText("The last is expected to go in 2 hours: most of the time it waits for this.")
      .waitFor();
    expect(await why.getByText(/than .*, as was expected/).count()).toBe(0);
    const account = why.getByRole("list", { name: "Accounts" }).getByRole("listitem").first();
    await account.getByText(/^2 calls a second/).waitFor();
    await page.clock.runFor(31_000);
    const later =
      /Later than \w+ \d\d:\d\d.*, as was expected .* ago: it waits longer for this\. Paused: agent agent_sales\./;
    await why.getByText(later).waitFor();
    await account.getByRole("link", { name: "vapi" }).click();
    await page.getByRole("region", { name: "Accounts and their pace" }).waitFor();
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

  it("lets a list be sent to agents, clients and campaigns that there are", async () => {
    await signIn();
    await page.getByRole("link", { name: "Send", exact: true }).click();
    const csv = "Name,Mobile\nAda,(202) 555-0142\n";
    const file = { name: "leads.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
    await page.getByLabel(/^Drop a file of leads here/).setInputFiles(file);
    const offered = async (label: string) => {
      const id = await page.getByLabel(label).getAttribute("list");
      const options = page.locator(`[id="${id}"] option`);
      return options.evaluateAll((all) => all.map((one) => one.getAttribute("value")));
    };
    const agent = page.getByLabel("Agent of rows that name none");
    await agent.waitFor();
    await expect
      .poll(() => offered("Agent of rows that name none"))
      .toEqual(["agent_sales", "agent_survey", "agent_paris"]);
    const countries = await offered("Country of numbers without a code");
    expect(countries.slice(0, 3)).toEqual(["Canada", "France", "United States"]);
    await agent.fill("agent_sales");
    await page.getByRole("heading", { name: "1 lead" }).waitFor();
    await expect
      .poll(() => offered("Name of the campaign"))
      .toEqual(expect.arrayContaining(["November offers", "How was your stay?"]));
    const clients = page.getByRole("combobox", { name: "Client" }).getByRole("option");
    await expect
      .poll(() => clients.allInnerTexts())
      .toEqual(expect.arrayContaining(["crm", "shop"]));
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
    // It comes back by itself, or by the button.
    await page
      .getByRole("button", { name: "Try again" })
      .first()
      .click({ timeout: 5_000 })
      .catch(() => undefined);
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
