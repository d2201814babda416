import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { applyAction } from "#shared/calls/transitions.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "../support/api.ts";
import { flawsOf } from "../support/axe.ts";
import { openContext, startBrowser } from "../support/browser.ts";
import { aCall } from "../support/calls.ts";
import { type ConsoleServer, startConsoleServer } from "../support/console-server.ts";
import { tokens } from "../support/environment.ts";
import { rowIn, writeRows } from "../support/rows.ts";
import { until } from "../support/service.ts";

/** Longer than the interval of any view's reads. */
const intervalMs = 61_000;

describe("the open page", () => {
  let browser: Browser;
  let server: ConsoleServer;
  let context: BrowserContext;
  let page: Page;
  beforeAll(async () => {
    browser = await startBrowser();
    server = await startConsoleServer(createTestApi());
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
  });
  beforeEach(async () => {
    context = await openContext(browser, {
      viewport: { width: 1200, height: 900 },
      locale: "en-GB",
      timezoneId: "America/New_York",
    });
    page = await context.newPage();
    // The test moves the browser's clock, so that it waits for no interval.
    await page.clock.install();
  });
  afterEach(() => context.close());

  const open = (address: string) => page.goto(`${server.address}/operator#/${address}`);
  async function signIn(address: string): Promise<void> {
    await open(address);
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    await page.getByRole("navigation", { name: "Views" }).waitFor();
  }
  const said = () => page.getByRole("status").textContent();
  const hasSaid = (words: RegExp) => until(async () => words.test((await said()) ?? ""));
  const acted = (target: string) =>
    server.api.documents.write([
      {
        next: {
          kind: "audit",
          key: `${String(Date.now()).padStart(15, "0")}#${target}`,
          version: target,
          value: { at: Date.now(), by: "ada", action: "pause", target: `agent ${target}` },
          expiresAt: null,
        },
        seen: null,
      },
    ]);

  it("resumes by itself once it is online again, and shows the age of its data meanwhile", async () => {
    await acted("first");
    await signIn("audit");
    await page.getByRole("cell", { name: "agent first" }).waitFor();
    expect(await page.getByText(/^As of/).count()).toBe(0);
    await context.setOffline(true);
    await page.clock.runFor(intervalMs);
    await page.getByText("The service cannot be reached.").waitFor();
    await page.getByText(/^As of .*\d:\d\d/).waitFor();
    await page.getByRole("cell", { name: "agent first" }).waitFor();
    expect(await flawsOf(page)).toEqual([]);
    await acted("second");
    await context.setOffline(false);
    await page.getByRole("cell", { name: "agent second" }).waitFor();
    await page.getByText(/^As of/).waitFor({ state: "detached" });
  });

  it("resumes a list of calls too, and shows calls that came in meanwhile", async () => {
    const write = async (reason: string) => {
      const request = { phone_number: "+12025550177", agent_id: "agent_sales" };
      const row = rowIn("EXPIRED", aCall({ acceptedAt: Date.now(), request }), { reason });
      await writeRows([row], server.api.ledger, server.api.documents);
    };
    await write("first_one");
    await signIn("calls?state=EXPIRED");
    const found = page.getByRole("region", { name: "Calls found" });
    await found.getByRole("cell", { name: "first_one" }).waitFor();
    await context.setOffline(true);
    await page.clock.runFor(intervalMs);
    await page.getByText("The service cannot be reached.").waitFor();
    await page.getByText(/As of .*\d:\d\d/).waitFor();
    await write("second_one");
    await context.setOffline(false);
    await found.getByRole("cell", { name: "second_one" }).waitFor();
    await page.getByText(/As of/).waitFor({ state: "detached" });
  });

  it("shows an open call's new state without a click, and reads nothing while it is hidden", async () => {
    const row = rowIn("NEEDS_REVIEW", aCall({}), { reason: "outcome_unknown" });
    await writeRows([row], server.api.ledger, server.api.documents);
    await signIn(`calls?call=${row.id}`);
    const call = page.getByRole("region", { name: /^Call call_/ });
    await call.getByRole("button", { name: "Mark as placed" }).waitFor();
    await page.getByText("There is no other call to this number.").waitFor();
    const next = applyAction(
      row,
      { action: { to: "CANCELLED" }, by: "ada" },
      { version: randomVersion(), at: Date.now() },
    );
    if (next === undefined) throw new Error("a call that needs review cannot be closed");
    await server.api.ledger.write([{ next, seen: row.version }]);
    let asked = 0;
    page.on("request", () => asked++);
    const setVisible = (state: string) =>
      page.evaluate(`Object.defineProperty(document, "visibilityState", {
        configurable: true, get: () => "${state}" });
        document.dispatchEvent(new Event("visibilitychange"));`);
    await setVisible("hidden");
    await page.clock.runFor(10 * intervalMs);
    expect(asked).toBe(0);
    await setVisible("visible");
    await call.getByText("by ada").waitFor();
    await call.getByRole("button", { name: "Mark as placed" }).waitFor({ state: "detached" });
  });

  it("never asks for the same data twice at a time, and asks less often while the service fails", async () => {
    let asked = 0;
    let answer = () => {};
    const answered = new Promise<void>((done) => (answer = done));
    await page.route(/\/operator\/audit/, async (route) => {
      asked++;
      if (asked === 1) await answered;
      await route.fulfill({ status: 503, json: { detail: "The ledger is away." } });
    });
    await signIn("audit");
    await page.getByText("Loading …").waitFor();
    await until(() => asked === 1);
    await page.clock.runFor(45_000); // below the time limit of a read
    await page.getByRole("button", { name: "Sign out" }).focus(); // the page has done all by now
    expect(asked).toBe(1);
    answer();
    await page.getByText("The ledger is away.").waitFor();
    for (let minute = 0; minute < 10; minute++) {
      await page.clock.runFor(60_000);
      await page.evaluate("new Promise((done) => fetch('operator/page.css').then(done))");
    }
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(15);
  });

  it("comes back within ten seconds of a service that failed for half a minute", async () => {
    let asked = 0;
    await signIn("campaigns");
    await page.getByText(/^No campaign has had calls since/).waitFor();
    const api = /\/operator\/(?!page|shared|views)/;
    await page.route(api, async (route) => {
      asked++;
      await route.fulfill({ status: 500, json: { detail: "The service failed." } });
    });
    await open("requests");
    await page.getByText("The requests could not be read: The service failed.").waitFor();
    for (let second = 0; second < 33; second += 3) {
      await page.clock.runFor(3_000);
      await page.evaluate("new Promise((done) => fetch('operator/page.css').then(done))");
    }
    expect(asked).toBeLessThan(30);
    await page.unroute(api);
    await page.clock.runFor(11_000);
    await page.getByText("could not be read").first().waitFor({ state: "detached" });
  });

  it("shows a message until its view is left or some time has passed, and an error until it is closed", async () => {
    await signIn("do-not-call");
    const check = async (number: string) => {
      await page.getByLabel("Phone number", { exact: true }).fill(number);
      await page.getByRole("button", { name: "Check" }).click();
    };
    await check("+13035550998");
    await hasSaid(/is not on the list/);
    await open("audit");
    await page.getByRole("heading", { level: 2, name: "Audit log" }).waitFor();
    await until(async () => (await said()) === "");
    await open("do-not-call");
    await check("+13035550998");
    await hasSaid(/is not on the list/);
    await page.clock.runFor(intervalMs);
    await until(async () => (await said()) === "");
    await check("555");
    await page.getByText(/^It (has|is) /).waitFor();
    await page.route("**/do-not-call/check", (route) =>
      route.fulfill({ status: 409, json: { detail: "a former key is missing" } }),
    );
    await check("+1 (303) 555-0998");
    await hasSaid(/^a former key is missing/);
    await open("audit");
    await page.clock.runFor(intervalMs);
    await hasSaid(/^Do not call: a former key is missing/);
    expect(await flawsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Close the message" }).click();
    expect(await said()).toBe("");
  });

  it("keeps what was typed and decided when its token is refused, and continues with another token", async () => {
    await signIn("do-not-call");
    const other = await context.newPage();
    await other.goto(`${server.address}/operator`);
    await other.getByLabel("Operator's token").fill(tokens.operator);
    await other.keyboard.press("Enter");
    await other.getByRole("heading", { name: "Last 24 hours" }).waitFor();
    await page.bringToFront();
    const numbers = page.getByLabel("Phone numbers, one a line");
    await page.getByLabel("Number to erase").fill("+13035550990");
    await numbers.fill("+13035550995");
    await page.route(/\/operator\/do-not-call/, (route) =>
      route.fulfill({ status: 401, json: { detail: "no token" } }),
    );
    await page.getByRole("button", { name: "Add 1 number" }).click();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.getByText("One request of yours waits").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    expect(await flawsOf(page)).toEqual([]);
    expect(await numbers.inputValue()).toBe("+13035550995");
    await dialog.getByLabel("Operator's token").fill(tokens.crm);
    await page.keyboard.press("Enter");
    await dialog.getByText("This is not an operator's token").waitFor();
    await page.unroute(/\/operator\/do-not-call/);
    await dialog.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    await hasSaid(/^Added 1 number/);
    expect(await page.getByLabel("Number to erase").inputValue()).toBe("+13035550990");
    // Signing out here ends nothing there.
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Operator's token").waitFor();
    await other.getByRole("link", { name: "Audit log" }).click();
    await other.getByRole("cell", { name: "do not call add" }).first().waitFor();
  });

  it("shows each time with its zone, and when a call is due also in the callee's", async () => {
    const call = aCall({ request: { phone_number: "+33142555001", agent_id: "agent_sales" } });
    // Days before it is due, and in winter at both places.
    const at = Date.UTC(2026, 10, 20, 15);
    await page.clock.setSystemTime(at);
    const dueAt = Date.UTC(2026, 10, 30, 15, 30);
    const row = rowIn("WAITING", call, { at, dueAt, reason: "pace" });
    await writeRows([row], server.api.ledger, server.api.documents);
    await signIn("calls?state=WAITING");
    const due = /30 Nov 10:30\s+callee: Mon,? 16:30 (CET|GMT\+1)/;
    await page.getByRole("region", { name: "Calls found" }).getByText("callee: Mon").waitFor();
    await page.getByRole("columnheader", { name: /^Next (EST|GMT-5)$/ }).waitFor();
    await open(`calls?state=WAITING&call=${row.id}`);
    await page
      .getByRole("region", { name: /^Call call_/ })
      .getByText("callee: Mon")
      .first()
      .waitFor();
    const text = async (name: string | RegExp) =>
      (await page.getByRole("region", { name }).textContent()) ?? "";
    expect(await text("Calls found")).toMatch(due);
    expect(await text(/^Call call_/)).toMatch(new RegExp(`Next${due.source}`));
    const whole = page.locator("time[datetime='2026-11-30T15:30:00.000Z']");
    expect(await whole.count()).toBe(3);
    const changed = page.getByRole("region", { name: "Calls found" }).locator("tbody td").last();
    expect(await changed.innerText()).toMatch(/^(today|yesterday) \d\d:\d\d$/);
    expect(await changed.locator("time").getAttribute("title")).toMatch(/:\d\d (EST|GMT-5)$/);
    expect(await whole.first().getAttribute("title")).toMatch(
      /^30\/11\/2026, 10:30:00 (EST|GMT-5)$/,
    );
    expect(await page.content()).not.toContain("42555001");
    await open("forecast");
    await page.getByLabel(/^Sent at .*(EST|GMT-5)/).waitFor();
  });
});
