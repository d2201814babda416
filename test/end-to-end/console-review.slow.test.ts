import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Bulk } from "#shared/answers/answers.ts";
import { applyAction } from "#shared/calls/transitions.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "../support/api.ts";
import { flawsOf } from "../support/axe.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { openPage, startBrowser } from "../support/browser.ts";
import { type ConsoleServer, startConsoleServer } from "../support/console-server.ts";
import { aCall } from "../support/calls.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { rowIn, writeRows } from "../support/rows.ts";
import { until } from "../support/service.ts";

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };

describe("an operator who reviews calls", () => {
  let browser: Browser;
  let server: ConsoleServer;
  let page: Page;
  /** Paths of the requests that would decide a call. */
  let sent: string[];
  beforeAll(async () => {
    browser = await startBrowser();
  });
  beforeEach(async () => {
    const api = createTestApi({ environment });
    await fillWithADay(api.ledger, api.documents, Date.now());
    server = await startConsoleServer(api);
    page = await openPage(browser, { viewport: { width: 1200, height: 900 } });
    sent = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (/(resolve|redial|bulk)$/.test(pathname)) sent.push(pathname);
    });
    await page.clock.install();
    await page.goto(`${server.address}/operator#/review`);
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    await shows(1, 7);
  });
  afterEach(async () => {
    await page.close();
    await server.stop();
  });
  afterAll(() => browser.close());

  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const bar = () => page.getByRole("region", { name: "Decision not sent yet" });
  const inState = async (state: "NEEDS_REVIEW" | "PLACED" | "CANCELLED") =>
    (await server.api.ledger.list({ state, limit: 5000 })).rows;
  const said = (words: RegExp) =>
    until(async () => {
      await page.clock.runFor(20);
      return words.test((await page.getByRole("status").textContent()) ?? "");
    });
  /** Waits until the call at this position is shown and can be decided. */
  async function shows(position: number, of: number): Promise<void> {
    await seen(page.getByText(`Call ${position} of ${of} to review`));
    await seen(page.getByRole("list", { name: "What happened" }));
    await until(async () => {
      await page.clock.runFor(100);
      return await button("Mark as placed P").isEnabled();
    });
  }
  /** Waits until it is seen, while the page's time goes on by steps. */
  const seen = (locator: Locator) =>
    until(async () => {
      await page.clock.runFor(20);
      return await locator.isVisible();
    });
  /** From now on the page's time goes on step by step, however long a busy machine takes for each. */
  const goBySteps = async () => page.clock.pauseAt(await page.evaluate(() => Date.now() + 60_000));

  /** Presses keys within one rendering. */
  const pressAll = (keys: string) =>
    page.evaluate(
      `for (const key of ${JSON.stringify(keys.split(""))})
         document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));`,
    );

  it("decides one call by a held key, and sends it when 10 s to undo are over", async () => {
    const placed = (await inState("PLACED")).length;
    await goBySteps();
    await shows(1, 7);
    for (let ms = 0; ms < 1500; ms += 50) {
      await page.keyboard.down("p"); // the second and later ones are repeats
      await page.clock.runFor(50);
    }
    await page.keyboard.up("p");
    await said(/^Mark as placed: call #\d+ of \w+ to …\d\d\. It is sent in 10 seconds/);
    await shows(1, 6);
    expect(sent).toEqual([]);
    expect(await inState("NEEDS_REVIEW")).toHaveLength(7);
    await page.clock.runFor(10_000);
    await said(/^Marked as placed\. It was call #/);
    expect(sent).toHaveLength(1);
    expect(await inState("NEEDS_REVIEW")).toHaveLength(6);
    expect(await inState("PLACED")).toHaveLength(placed + 1);
    await page.clock.resume();
    await page.getByRole("region", { name: "Last decision" }).waitFor();
    expect(await flawsOf(page)).toEqual([]);
  });

  it("decides 30 calls by 30 keys, each once it was seen, with the next ones read ahead", async () => {
    const calls = Array.from({ length: 23 }, () => aCall({ acceptedAt: Date.now() }));
    const rows = calls.map((call) => rowIn("NEEDS_REVIEW", call, { reason: "outcome_unknown" }));
    await writeRows(rows, server.api.ledger, server.api.documents);
    const oldest = (await inState("NEEDS_REVIEW")).map(({ id }) => id).toReversed();
    const read = new Set<string>();
    let shown = "";
    page.on("request", (request) => {
      const [, id = "", isShown] = /calls\/(call_\w+)(\/same-number)?$/.exec(request.url()) ?? [];
      if (id === "") return;
      if (isShown === undefined) read.add(id);
      else shown = id;
    });
    await page.reload();
    const tab = page.getByRole("link", { name: /^Review/ });
    for (let left = 30; left > 0; left--) {
      const ahead = new Set(read);
      await shows(1, left);
      expect(await tab.textContent()).toMatch(new RegExp(`^Review ${left} `));
      if (left < 30) expect(ahead).toContain(shown);
      // The shown call is read, and the three that follow.
      await expect.poll(() => read).toEqual(new Set(oldest.slice(0, 30 - left + 4)));
      // Presses before the call was seen for half a second decide nothing.
      await pressAll(left % 2 === 0 ? "ppc" : "cpp");
    }
    await page.getByText("No other call needs review.").waitFor();
    expect(sent).toHaveLength(29);
    await page.clock.runFor(10_000);
    await until(() => sent.length === 30);
    await until(async () => (await inState("NEEDS_REVIEW")).length === 0);
    expect((await inState("CANCELLED")).length).toBeGreaterThanOrEqual(15);
  });

  it("sends what was shown, and nothing about a call that has changed since", async () => {
    const row = (await inState("NEEDS_REVIEW")).at(-1);
    if (row === undefined) throw new Error("no call needs review");
    const next = { ...row, version: randomVersion(), updatedAt: row.updatedAt + 1 };
    await server.api.ledger.write([{ next, seen: row.version }]);
    await page.keyboard.press("p");
    await page.clock.runFor(10_000);
    await said(/^Mark as placed: not done, call #.* has changed since it was shown/);
    expect(await inState("NEEDS_REVIEW")).toHaveLength(7);
  });

  it("steps once for each press, however fast they come", async () => {
    await pressAll("nnn");
    await shows(4, 7);
    await page.evaluate(
      `new Promise((done) => {
         const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
         new MutationObserver((_, observer) => { observer.disconnect(); press("b"); done(); })
           .observe(document.activeElement, { subtree: true, childList: true, characterData: true });
         press("n");
       })`,
    );
    await shows(4, 7);
    await pressAll("bbbb");
    await shows(7, 7);
  });

  it("presses a button twice or holds Enter on it, and decides one call", async () => {
    await button("Mark as placed P").dblclick();
    await shows(1, 6);
    await button("Not placed: close C").focus();
    await page.keyboard.down("Enter"); // sends the decision before at once
    for (let n = 0; n < 5; n++) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await shows(1, 5);
    await until(() => sent.length === 1);
    await page.keyboard.press("s");
    await said(/^Closed\. It was call #/);
    expect(await inState("NEEDS_REVIEW")).toHaveLength(5);
  });

  it("opens the question of a redial by a held Enter, and does not answer it", async () => {
    await button("Not placed: call again A").focus();
    for (let n = 0; n < 5; n++) await page.keyboard.down("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.up("Enter");
    await page.clock.runFor(11_000);
    expect(await page.getByRole("dialog").isVisible()).toBe(true);
    expect(sent).toEqual([]);
  });

  it("shows the oldest call first, with its client, the answer in words and the dashboard", async () => {
    const [oldest] = (await inState("NEEDS_REVIEW")).toReversed();
    const facts = page.getByRole("region", { name: /^Call 1 of 7/ });
    await facts.getByRole("link", { name: oldest?.id.slice(5, 31) ?? "" }).waitFor();
    await facts.getByText(oldest?.client ?? "?", { exact: true }).waitFor();
    await facts
      .getByText(/the call may have been placed/)
      .first()
      .waitFor();
    const dashboard = facts.getByRole("link", { name: /^(Calls|This call) at retell$/ });
    expect(await dashboard.getAttribute("href")).toMatch(/^https:\/\/dashboard\.retellai\.com\//);
  });

  it("undoes within 10 s, in any view, and nothing is sent", async () => {
    const before = await inState("NEEDS_REVIEW");
    await goBySteps();
    await shows(1, 7);
    await page.keyboard.press("c");
    await seen(bar().getByText("Not placed: close"));
    await page.goto(`${server.address}/operator#/audit`);
    await seen(page.getByRole("heading", { level: 2, name: "Audit log" }));
    await page.keyboard.press("u");
    await seen(page.getByText(/^Undone, nothing was sent/));
    await page.clock.runFor(20_000);
    await page.clock.resume();
    await page.goto(`${server.address}/operator#/review`);
    await shows(1, 7);
    expect(sent).toEqual([]);
    expect(await inState("NEEDS_REVIEW")).toEqual(before);
  });

  it("shows a pending decision without accessibility flaws", async () => {
    await page.keyboard.press("c");
    await bar().getByText("Not placed: close").waitFor();
    expect(await flawsOf(page)).toEqual([]);
  });

  it("sends what is pending when another call is decided, and when the page is left", async () => {
    await page.keyboard.press("p");
    await shows(1, 6);
    await button("Mark as placed P").click();
    await said(/^Marked as placed/);
    expect(sent).toHaveLength(1);
    await page.goto("about:blank");
    await until(async () => (await inState("NEEDS_REVIEW")).length === 5);
    await page.goBack();
    await shows(1, 5);
    await page.keyboard.press("c");
    await bar().waitFor();
    await button("Sign out").click();
    await page.getByLabel("Operator's token").waitFor();
    await until(async () => (await inState("NEEDS_REVIEW")).length === 4);
  });

  it("cancels what a filter shows once its count is typed, and stops when told to", async () => {
    await page.goto(`${server.address}/operator#/calls?state=WAITING&agent_id=agent_paris`);
    await page.getByText("Act on all of these …").click();
    await button("Cancel …").click();
    const typeCount = async () => {
      await page.getByLabel("Type 310 to confirm").fill("310");
      expect(await flawsOf(page)).toEqual([]);
    };
    const waitingNow = async () =>
      (await server.api.ledger.list({ state: "WAITING", limit: 5000 })).rows.filter(
        ({ request }) => request?.agent_id === "agent_paris",
      );
    await typeCount();
    await goBySteps();
    await button("Cancel: 310 calls").click();
    // For ten seconds it can be undone, and nothing has been done.
    await seen(page.getByText(/^Cancel: 310 calls, in \d+ s, unless you undo it/));
    await page.clock.runFor(8_000);
    await button("Undo").click();
    await said(/^Undone, nothing was changed: Cancel, /);
    await page.clock.runFor(20_000);
    await page.clock.resume();
    expect(await waitingNow()).toHaveLength(310);
    const counted = page.waitForResponse(/\/operator\/bulk$/);
    await button("Cancel …").click();
    const { counted_at }: Bulk = await (await counted).json();
    const times: unknown[] = [];
    let parts = 0;
    let answer = () => {};
    const stopped = new Promise<void>((done) => (answer = done));
    await page.route(/\/operator\/bulk$/, async (route) => {
      if (++parts === 3) await stopped;
      times.push(route.request().postDataJSON().counted_at);
      await route.continue();
    });
    await typeCount();
    await button("Cancel: 310 calls").click();
    await page.getByText("45 of 310 done").waitFor();
    expect(await flawsOf(page)).toEqual([]);
    await button("Stop").click();
    answer();
    await said(/^Cancel: 90 calls done\. It was stopped: the others were not changed/);
    expect(await waitingNow()).toHaveLength(220);
    expect(times).toEqual([counted_at, counted_at, counted_at]);
    // The way back is Undo, before anything is done.
    await page.goto(`${server.address}/operator#/calls?state=CANCELLED&agent_id=agent_paris`);
    await page.getByText("Nothing can be done with calls that are cancelled.").waitFor();
    await page.goto(`${server.address}/operator#/audit`);
    const entries = page.getByRole("row").filter({ hasText: "bulk cancel" });
    await until(async () => (await entries.count()) === 2);
  });

  it("has a decision carried out once whose answer was lost", async () => {
    let tries = 0;
    await page.route(/resolve$/, async (route) => {
      if (++tries > 1) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await page.keyboard.press("p");
    await page.keyboard.press("s");
    const status = page.getByRole("status");
    await until(async () => {
      await page.clock.runFor(500);
      return ((await status.textContent()) ?? "").startsWith("Marked as placed");
    });
    expect(sent).toHaveLength(2);
    expect(await inState("NEEDS_REVIEW")).toHaveLength(6);
  });

  it("leaves no work to the operator who signs in next", async () => {
    await page.goto(`${server.address}/operator#/calls?state=WAITING&agent_id=agent_paris`);
    await page.getByText("Act on all of these …").click();
    await button("Cancel …").click();
    await page.getByLabel("Type 310 to confirm").fill("310");
    let parts = 0;
    await page.route(/\/operator\/bulk$/, (route) =>
      ++parts === 2 ? route.fulfill({ status: 503, json: {} }) : route.continue(),
    );
    await button("Cancel: 310 calls").click();
    await until(async () => parts === 2);
    await button("Sign out").click();
    await page.getByLabel("Operator's token").waitFor();
    await page.clock.runFor(2500);
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: "Calls" }).waitFor();
    await page.clock.runFor(2500);
    await page.getByText("Act on all of these …").waitFor();
    const waiting = (await server.api.ledger.list({ state: "WAITING", limit: 5000 })).rows;
    expect(waiting.filter(({ request }) => request?.agent_id === "agent_paris")).toHaveLength(310);
  });

  it("is told in words that somebody else was first", async () => {
    const row = (await inState("NEEDS_REVIEW")).at(-1);
    if (row === undefined) throw new Error("no call needs review");
    await page.keyboard.press("p");
    const write = { version: randomVersion(), at: Date.now() };
    const next = applyAction(row, { action: { to: "CANCELLED" }, by: "another" }, write);
    if (next === undefined) throw new Error("the call cannot be closed");
    await server.api.ledger.write([{ next, seen: row.version }]);
    await page.clock.runFor(10_000);
    await said(/^Mark as placed: not done, call #.* The call is CANCELLED/);
    expect(await inState("NEEDS_REVIEW")).toHaveLength(6);
  });
});
