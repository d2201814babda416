import { env } from "node:process";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { toPace } from "#shared/telephony/rate.ts";
import { createTestApi } from "../support/api.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { openContext, startBrowser } from "../support/browser.ts";
import { type ConsoleServer, startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { flawsOf } from "../support/axe.ts";
import { press, tabTo, type } from "../support/keyboard.ts";
import { until } from "../support/service.ts";

/** Always open by default: what holds calls depends on no hour of the test's own day. */
const plan = { ...dayPlan, callingHours: { default: "always" } };
const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(plan) };
/** Dead letters of the service: one that is put back, and one that is discarded. */
const letterNames = [
  "calls-00000000000000000000000000000001",
  "events-00000000000000000000000000000002",
];
/** Every view is looked at in each width and colour by console-views. `npm run test:views` has both looks here. */
const looks = (
  [
    { look: "light on a desk", colorScheme: "light", width: 1200 },
    { look: "dark on a phone", colorScheme: "dark", width: 390 },
  ] as const
).slice(0, env["LONG"] === "1" ? 2 : 1);

let browser: Browser | undefined;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

/** Clicks, keys and filled fields that a task takes at most. Two more are counted where they are tested: 30 reviews, and a list of 300. */
const tasks: Record<string, number> = {
  "see what needs a person": 0,
  "see why a campaign is slow": 2,
  "pause an account, and undo it": 4,
  "resume what a person has to": 1,
  "find the calls to a number as people write it": 2,
  "cancel what waits of a request": 4,
  "list a number as not to be called": 3,
  "see what a client cost": 1,
  "put a dead letter back": 2,
};

describe("a task of the day", () => {
  it("takes the stated number of clicks, keys and fields, and no scroll to a button", async () => {
    const letters = new Map(letterNames.map((name) => [name, '{"kind":"other"}']));
    const api = createTestApi({ environment, letters });
    await fillWithADay(api.ledger, api.documents, Date.now());
    const server = await startConsoleServer(api);
    if (browser === undefined) throw new Error("there is no browser");
    const context = await openContext(browser, { viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
    const link = (name: string | RegExp) => page.getByRole("link", { name, exact: true });
    const tab = (name: string) =>
      page.getByRole("navigation", { name: "Views" }).getByRole("link", { name });
    const counted: Record<string, number> = {};
    /** Performs a task from the overview, and counts its steps. */
    async function task(name: string, work: (step: Steps) => Promise<unknown>): Promise<void> {
      let steps = 0;
      await page.goto(`${server.address}/operator#/overview`);
      await page.getByRole("heading", { name: "Last 24 hours" }).waitFor();
      await work({
        async click(target) {
          // A button is in sight sideways: no table is scrolled for it.
          const box = await target.boundingBox();
          expect(box === null ? 0 : box.x + box.width).toBeLessThanOrEqual(1440);
          await target.click();
          steps += 1;
        },
        async fill(target, text) {
          await target.fill(text);
          steps += 1;
        },
        async press(key) {
          await page.keyboard.press(key);
          steps += 1;
        },
      });
      counted[name] = steps;
    }
    const shown = (text: string | RegExp) => page.getByText(text).first().waitFor();
    await page.goto(`${server.address}/operator`);
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    await task("see what needs a person", () => shown(/^Circuit breaker: account retell/));
    await task("see why a campaign is slow", async ({ click }) => {
      await click(tab("Campaigns"));
      await click(link("November offers"));
      const why = page.getByRole("region", { name: "Why its calls wait" });
      // The view has the holders, the account, its limits, and how much of them the campaign gets.
      await why.getByRole("list", { name: "Reasons" }).getByRole("listitem").first().waitFor();
      await why.getByText(/^2 calls a second/).waitFor();
      await why
        .getByText(/within an hour/)
        .first()
        .waitFor();
    });
    await task("pause an account, and undo it", async ({ click }) => {
      await click(tab("Accounts"));
      await click(button("Pause account twilio"));
      const dialog = page.getByRole("dialog");
      await click(dialog.getByRole("button", { name: "Pause account twilio" }));
      expect(await page.evaluate("scrollY")).toBe(0);
      await click(page.getByRole("region", { name: "Can be undone" }).getByRole("button"));
      await shown(/^Resumed: account twilio/);
    });
    await task("resume what a person has to", async ({ click }) => {
      await click(button("Resume agent agent_paris"));
      await shown(/^Resumed: agent agent_paris/);
    });
    const { rows } = await api.ledger.list({ state: "WAITING", limit: 500 });
    const numbers = rows.flatMap(({ request }) => request?.phone_number ?? []);
    const american = /^\+1(\d{3})(\d{3})(\d{4})$/;
    const [, area, exchange, last] =
      american.exec(numbers.find((one) => american.test(one)) ?? "") ?? [];
    await task("find the calls to a number as people write it", async ({ fill, press: key }) => {
      await fill(page.getByLabel("Find anything"), `(${area}) ${exchange}-${last}`);
      await key("Enter");
      await page.getByRole("region", { name: "Calls found" }).getByRole("row").nth(1).waitFor();
    });
    await task("cancel what waits of a request", async ({ click }) => {
      await click(tab("Requests"));
      await click(link(/^360 calls of research/));
      await click(button("Cancel waiting calls"));
      await click(button("Cancel these calls"));
      await shown(/^91 waiting calls of request/);
    });
    await task("list a number as not to be called", async ({ click, fill }) => {
      await click(tab("Do not call"));
      await fill(page.getByLabel("Phone numbers, one a line"), "(303) 555-0997");
      await click(button("Add 1 number"));
      await shown(/^Added 1 number/);
    });
    await task("see what a client cost", async ({ click }) => {
      await click(tab("Clients"));
      await page.getByRole("region", { name: "Usage", exact: true }).getByText("shop").waitFor();
    });
    await task("put a dead letter back", async ({ click }) => {
      await click(tab("Incidents"));
      await click(button(/^Put back calls-/));
      await shown(/^Put back: calls-/);
    });
    await context.close();
    await server.stop();
    expect(counted).toEqual(tasks);
  });
});

/** The steps of a task. */
interface Steps {
  click(target: Locator): Promise<void>;
  fill(target: Locator, text: string): Promise<void>;
  press(key: string): Promise<void>;
}

describe.each(looks)("by the keyboard alone, $look, an operator", ({ colorScheme, width }) => {
  let server: ConsoleServer;
  let context: BrowserContext;
  let page: Page;
  /** Complaints of the browser, and the hosts it contacted. */
  const complaints: string[] = [];
  const asked = new Set<string>();

  beforeAll(async () => {
    const letters = new Map(letterNames.map((name) => [name, '{"kind":"other"}']));
    const api = createTestApi({ environment, letters });
    await fillWithADay(api.ledger, api.documents, Date.now());
    // Before the page first asks for the plan, which it asks for once a minute.
    const window = { notBefore: Date.now(), notAfter: Date.now() + 3_600_000, count: 4_000 };
    await api.documents.takePermits({ kind: "pace", key: "vapi" }, toPace(2, 1), window);
    server = await startConsoleServer(api);
    if (browser === undefined) throw new Error("there is no browser");
    context = await openContext(browser, { viewport: { width, height: 900 }, colorScheme });
    page = await context.newPage();
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
    await page.goto(`${server.address}/operator`);
  });
  afterAll(async () => {
    await context.close();
    await server.stop();
  });

  const link = (name: string | RegExp) => page.getByRole("link", { name, exact: true });
  const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
  const said = (words: RegExp) =>
    until(async () => words.test((await page.getByRole("status").textContent()) ?? ""));
  const inState = async (state: "NEEDS_REVIEW" | "PLACED" | "REDIALED" | "WAITING", most = 5000) =>
    (await server.api.ledger.list({ state, limit: most })).rows;
  async function open(view: string): Promise<void> {
    await press(
      page,
      page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: view }),
    );
    await page.getByRole("heading", { level: 2, name: view }).waitFor();
    expect(await flawsOf(page)).toEqual([]);
  }

  /** Pauses an account with a reason for an hour, takes it back, and has the pause back. */
  async function pauseAnAccount(): Promise<void> {
    const paused = async () => (await server.api.documents.list("pause", { limit: 9 })).length;
    const before = await paused();
    await press(page, button("Pause account twilio"));
    const dialog = page.getByRole("dialog", { name: "Pause account twilio?" });
    await dialog.getByText(/^It stops \d+ waiting calls of client crm/).waitFor();
    expect(await paused()).toBe(before);
    expect(await flawsOf(page)).toEqual([]);
    await type(page, dialog.getByLabel(/^Why/), "caller id is blocked");
    await page.keyboard.press("Enter");
    expect(await dialog.isVisible()).toBe(true);
    await tabTo(page, dialog.getByLabel("somebody resumes it"));
    await page.keyboard.press("ArrowDown");
    expect(await dialog.getByLabel("in one hour").isChecked()).toBe(true);
    expect(await paused()).toBe(before);
    await press(page, dialog.getByRole("button", { name: "Pause account twilio" }));
    await said(/^Paused: account twilio, until /);
    await page.getByText(/^account twilio, by operator since .*, until .* caller id is/).waitFor();
    const undo = page.getByRole("region", { name: "Can be undone" });
    await press(page, undo.getByRole("button", { name: "Undo" }));
    await said(/^Resumed: account twilio/);
    await until(async () => (await paused()) === before);
  }

  it("signs in, sees the day, and is led on from a card", async () => {
    expect(await flawsOf(page)).toEqual([]);
    await type(page, page.getByLabel("Operator's token"), tokens.operator);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Last 24 hours" }).waitFor();
    const now = page.getByRole("list", { name: "Now" });
    await now.getByRole("link", { name: /^To review 7/ }).waitFor();
    await now.getByRole("link", { name: /^Breakers open 1/ }).waitFor();
    await now.getByRole("link", { name: /^Dialing now 6/ }).waitFor();
    await now.getByRole("link", { name: /^Waiting 1,269/ }).waitFor();
    await now.getByText(/^last sweep \d+ (second|minute)s? ago/).waitFor();
    const labels = await page.locator("svg[role=img] text").allTextContents();
    expect(labels).toContain("1,000"); // a step of the axis of calls
    expect(labels.filter((text) => /\d\d:00/.test(text)).length).toBeGreaterThan(2);
    await page.getByText("The calling hours of florida are closed.").waitFor();
    expect(await flawsOf(page)).toEqual([]);
    await press(page, now.getByRole("link", { name: /^To review/ }));
    await page.getByRole("heading", { level: 2, name: "Review" }).waitFor();
  });

  it("reviews call by call, each decision by its key, and comes to the next one", async () => {
    await page.getByText("Call 1 of 7 to review").waitFor();
    await page.getByText("looked up 4 times, and not found").waitFor();
    expect(await flawsOf(page)).toEqual([]);
    const [oldest, second] = (await inState("NEEDS_REVIEW")).toReversed();
    await page.keyboard.press("n");
    await page.getByText("Call 2 of 7 to review").waitFor();
    await page.keyboard.press("b");
    await page.getByText("Call 1 of 7 to review").waitFor();
    const canDecide = () => until(() => button("Mark as placed P").isEnabled());
    await canDecide();
    await page.keyboard.press("p");
    await said(/^Mark as placed: call #\d+ .* U undoes it/);
    await page.getByText("Call 1 of 6 to review").waitFor();
    await canDecide();
    expect(await flawsOf(page)).toEqual([]);
    await page.keyboard.press("s");
    await said(/^Marked as placed/);
    await page.keyboard.press("c");
    await canDecide();
    await page.keyboard.press("s");
    await said(/^Closed/);
    await page.getByText("Call 1 of 5 to review").waitFor();
    const states = await server.api.ledger.read([oldest?.id ?? "", second?.id ?? ""]);
    expect([...states.rows.values()].map(({ state }) => state)).toEqual(["PLACED", "CANCELLED"]);
    await canDecide();
    await page.keyboard.press("a");
    await page.getByRole("dialog").waitFor();
    expect(await flawsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" }); // closed, it has no role any more
    expect(await inState("REDIALED")).toEqual([]);
    await page.keyboard.press("a");
    await press(page, button("Call again"));
    await press(page, button("Send now"));
    await said(/^The call is made again as call_/);
    expect(await inState("REDIALED")).toHaveLength(1);
  });

  it("decides many at once, only with their count typed in", async () => {
    await press(
      page,
      button(/^Mark as placed: all 4 of agent_survey: Whether the call was placed/),
    );
    await type(page, page.getByLabel("Type 4 to confirm"), "7");
    const decide = button("Mark as placed: 4 calls");
    expect(await decide.isDisabled()).toBe(true);
    await page.keyboard.press("Enter");
    expect(await inState("NEEDS_REVIEW")).toHaveLength(4);
    await type(page, page.getByLabel("Type 4 to confirm"), "4");
    expect(await flawsOf(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await said(/^Mark as placed: 4 calls done/);
    await page.getByText("No call needs review").waitFor();
    expect(await inState("NEEDS_REVIEW")).toEqual([]);
    expect(await flawsOf(page)).toEqual([]);
  });

  it("sees how far a request is, pauses its agent and cancels what waits of it", async () => {
    await open("Requests");
    const request = page.getByRole("row").filter({ hasText: "360 calls of research" });
    await request.getByText(/about \d+ placed/).waitFor();
    await request.getByText("91 waiting", { exact: true }).waitFor(); // as many as are held
    await request.getByText(/^91: The circuit breaker of account retell is open/).waitFor();
    await page
      .getByText(/the last waiting call is expected to go in/)
      .first()
      .waitFor();
    await press(page, link(/^360 calls of research/));
    await page.getByText("91 waiting").waitFor();
    expect(await flawsOf(page)).toEqual([]);
    await press(page, button("Pause agent agent_survey"));
    const dialog = page.getByRole("dialog", { name: "Pause agent agent_survey?" });
    await dialog.getByText("It stops 91 waiting calls of client research.").waitFor();
    await press(page, dialog.getByRole("button", { name: "Pause agent agent_survey" }));
    await said(/^Paused: agent agent_survey/);
    await press(page, button("Resume agent agent_survey"));
    await said(/^Resumed: agent agent_survey/);
    await press(page, button("Cancel waiting calls"));
    await press(page, button("Leave them"));
    expect((await inState("WAITING")).filter(({ client }) => client === "research")).toHaveLength(
      91,
    );
    await press(page, button("Cancel waiting calls"));
    await press(page, button("Cancel these calls"));
    await said(/^91 waiting calls of request \w+ cancelled/);
    await page.getByText("All of its calls are finished.").waitFor();
    expect((await inState("WAITING")).filter(({ client }) => client === "research")).toEqual([]);
  });

  it("finds calls by filters that stand in the address, and opens one beside the list", async () => {
    await open("Calls");
    await press(
      page,
      page.getByRole("navigation", { name: "States" }).getByRole("link", { name: "Rejected" }),
    );
    // The form sends the state that the page shows: the page must show it first.
    await until(() => page.url().endsWith("#/calls?state=REJECTED"));
    await page.getByRole("region", { name: "Calls found" }).waitFor();
    await press(page, page.getByText("Filters", { exact: true }));
    await type(page, page.getByLabel("Reason"), "do_not_call");
    await page.keyboard.press("Enter");
    await until(() => page.url().endsWith("#/calls?state=REJECTED&reason=do_not_call"));
    const found = page.getByRole("region", { name: "Calls found" }).getByRole("row");
    await until(async () => (await found.count()) === 19);
    await page.reload(); // as somebody does to whom the address was sent
    await until(async () => (await found.count()) === 19);
    expect(await page.getByLabel("Reason").inputValue()).toBe("do_not_call");
    // On paper there is the list alone, whole.
    await page.emulateMedia({ media: "print" });
    expect(await page.getByRole("navigation").or(page.getByRole("button")).count()).toBe(0);
    expect(await found.count()).toBe(19);
    expect(
      await page
        .getByRole("region", { name: "Calls found" })
        .evaluate((region) => region.scrollWidth - region.clientWidth),
    ).toBeLessThanOrEqual(0);
    await page.emulateMedia({ media: null });
    await press(page, found.nth(1).getByRole("link"));
    const call = page.getByRole("region", { name: /^Call call_/ });
    await call.getByRole("list", { name: "What happened" }).waitFor();
    expect(await flawsOf(page)).toEqual([]);
    const place = await call.boundingBox();
    const list = await page.locator(".list").boundingBox();
    if (width === 390) expect(list).toBeNull(); // there is no room beside it
    else expect(place?.x ?? 0).toBeGreaterThan(list?.width ?? Infinity);
    expect(await page.content()).not.toMatch(/130355\d{5}/);
    await press(page, call.getByRole("button", { name: "Show number and context" }));
    await call.getByText(/^\+130355\d{5}/).waitFor();
    await said(/recorded/);
    await press(page, call.getByRole("link", { name: "Close" }));
    await found.nth(1).waitFor();
  });

  it("searches a number, which stands in no address", async () => {
    const [{ request, numberHash } = { request: null, numberHash: "" }] = await inState(
      "WAITING",
      1,
    );
    const number = request?.phone_number ?? "";
    expect(hashNumber(number, apiEnvironment.HASH_KEY).numberHash).toBe(numberHash);
    await open("Calls");
    // Filters stay open once they were used.
    if (!(await page.getByLabel("Number").isVisible())) {
      await press(page, page.getByText("Filters", { exact: true }));
    }
    await type(page, page.getByLabel("Number"), number);
    await page.keyboard.press("Enter");
    const found = page.getByRole("region", { name: "Calls found" }).getByRole("row");
    await until(async () => (await found.count()) === 2);
    expect(page.url()).not.toContain(number.slice(1));
  });

  it("reads the plan in words, pauses and resumes an account, and closes a breaker", async () => {
    const now = Date.now();
    const since = { openedAt: now, probeAt: now + 300_000, intervalMs: 60_000 };
    const of = { state: "open", cause: "receiver", code: "http_410", room: 0 } as const;
    const value = { ...since, ...of, blamed: [] };
    const gone = { kind: "breaker", key: "receiver:crm", version: "gone", value } as const;
    await server.api.documents.write([{ next: { ...gone, expiresAt: null }, seen: null }]);
    await open("Accounts and agents");
    await page.getByText(/^Mon–Fri 10:00–13:00 and 14:00–20:00 .*; 4 calls in 30 days$/).waitFor();
    await page.getByText("fully used, free").waitFor();
    await page
      .getByText(
        /account retell .*The provider answers: The provider failed with the status 503.* is probed in/,
      )
      .waitFor();
    await page
      .getByText(
        /receiver crm .*The receiver answers: The provider refused the request with the status 410\..* is probed in/,
      )
      .waitFor();
    await pauseAnAccount();
    await press(page, button("Resume the circuit breaker of account retell"));
    await said(/^Resumed: the circuit breaker of account retell/);
    await press(page, button("Resume the circuit breaker of receiver crm"));
    await said(/^Resumed: the circuit breaker of receiver crm/);
    await press(page, button("Resume agent agent_paris"));
    await page.getByText("Nothing is paused.").waitFor();
    expect(await flawsOf(page)).toEqual([]);
  });

  it("forecasts a file of calls: the curve by the hour, and the refused ones", async () => {
    await open("Forecast");
    const called = (index: number) => ({
      phone_number: `+1202555${1000 + index}`,
      agent_id: "agent_paris",
    });
    const calls = [
      ...Array.from({ length: 40 }, (_, index) => called(index)),
      { ...called(40), agent_id: "agent_unknown" },
      { ...called(41), time_zone: "Europe/Paris" },
    ];
    const file = (name: string, text: string) => ({
      name,
      mimeType: "application/json",
      buffer: Buffer.from(text),
    });
    const choose = async (name: string, text: string) => {
      const chooser = page.waitForEvent("filechooser");
      await press(page, page.getByLabel(/^Drop a file of calls here/));
      await (await chooser).setFiles(file(name, text));
    };
    const forecast = () => press(page, page.getByRole("button", { name: "Forecast", exact: true }));
    await choose("broken.json", "not JSON");
    await forecast();
    await page.getByText("broken.json is not JSON.").waitFor();
    server.api.queue.take(); // the call that was made again
    await choose("leads.json", JSON.stringify(calls));
    await page.getByText("Chosen: leads.json.").waitFor();
    await forecast();
    await said(/^Forecast of 42 calls/);
    await page.getByRole("row", { name: /^Refused 2$/ }).waitFor();
    await page.getByRole("heading", { name: "Calls by the hour" }).waitFor();
    expect(await page.locator("svg[role=img] rect").count()).toBeGreaterThan(0);
    const refused = page.getByRole("region", { name: "Calls that are not dialed" });
    await refused.getByRole("row", { name: /^41 Refused agent_id is no agent/ }).waitFor();
    await refused.getByRole("row", { name: /^42 Refused .*is not a field of a call/ }).waitFor();
    await choose("leads.csv", "phone,agent_id\n+12025550142,agent_paris\n12,agent_paris\n");
    await page.getByText("Chosen: leads.csv.").waitFor();
    await forecast();
    await said(/^Forecast of 1 call\. 1 row could not be read\. Nothing was sent\./);
    expect(await flawsOf(page)).toEqual([]);
    expect(server.api.queue.take()).toEqual([]);
  });

  it("makes a client and its token, and takes both away again", async () => {
    await open("Clients");
    await type(page, page.getByLabel("Name of the client"), "acme");
    await type(page, page.getByLabel("Agents (* is all)"), "agent_sales");
    await type(page, page.getByLabel(/^Calls a day/), "500");
    await page.keyboard.press("Enter");
    await said(/^Made: client acme\./);
    const clients = page.getByRole("region", { name: "Clients", exact: true });
    await clients.getByText("acme").first().waitFor();
    await press(page, button("Make a token"));
    await said(/^Made, and recorded/);
    const [, secret = ""] =
      /only now: (\S+)/.exec(
        (await page.getByText(/^Token .* shown only now/).textContent()) ?? "",
      ) ?? [];
    const place = () =>
      server.api.app.request("/v1/calls", {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({ phone_number: "+12025550188", agent_id: "agent_sales" }),
      });
    expect((await place()).status).toBe(201);
    expect(await flawsOf(page)).toEqual([]);
    await press(page, button(/^Revoke …/));
    await press(page, button("Revoke it for good"));
    await said(/is revoked within a minute/);
    await press(page, button(/^Remove … acme/));
    expect(await flawsOf(page)).toEqual([]);
    await press(page, button("Remove it for good"));
    await said(/^Removed: client acme\./);
    server.api.queue.take();
  });

  it("puts a dead letter back, and discards another once it is confirmed", async () => {
    await open("Incidents");
    const [first = "", second = ""] = letterNames;
    await press(page, button(`Put back ${first}`));
    await said(/^Put back: calls-/);
    await page.getByRole("rowheader", { name: first }).waitFor({ state: "detached" });
    await press(page, button(`Discard … ${second}`));
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/^It carries/).waitFor();
    expect(await flawsOf(page)).toEqual([]);
    await press(page, dialog.getByRole("button", { name: "Discard it for good" }));
    await said(/^Discarded for good: events-/);
    await page.getByText("There is none: no message has failed a hundred times.").waitFor();
    server.api.queue.take();
  });

  it("keeps the do-not-call list, and finds all of it in the audit log", async () => {
    await open("Do not call");
    await type(page, page.getByLabel("Phone numbers, one a line"), "+13035550998 +13035550997");
    await press(page, button("Add 2 numbers"));
    await said(/^Added 2 numbers/);
    await type(page, page.getByLabel("Phone number", { exact: true }), "(303) 555-0997");
    await page.keyboard.press("Enter");
    await said(/^\+1 303 555 0997, United States is on the list/);
    await type(page, page.getByLabel("Phone numbers, one a line"), "(303) 555-0997");
    await press(page, button("Remove 1 number …"));
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Enter"); // the harmless button has the focus
    await page.locator("dialog").waitFor({ state: "detached" });
    await press(page, button("Remove 1 number …"));
    await press(page, button("Remove 1 number"));
    await said(/^Removed 1 number/);
    await open("Audit log");
    const acts = page.getByRole("region", { name: "Audit log" });
    for (const act of [
      "do not call add",
      "do not call remove",
      "resume",
      "pause",
      "reveal",
      "cancel",
      "mark placed",
      "redial",
    ]) {
      await acts.getByRole("cell", { name: act, exact: true }).first().waitFor();
    }
    expect(await page.content()).not.toMatch(/30355509\d\d/);
  });

  it("signs out, and has contacted no other host, nor made the browser complain", async () => {
    expect(complaints).toEqual([]);
    expect([...asked]).toEqual([server.address]);
    await tabTo(page, button("Sign out"));
    await page.keyboard.press("Enter");
    await page.getByLabel("Operator's token").waitFor();
  });
});
