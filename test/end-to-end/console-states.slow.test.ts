import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { applyAction } from "#shared/calls/transitions.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { createTestApi } from "../support/api.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { openPage, startBrowser } from "../support/browser.ts";
import { type ConsoleServer, startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { flawsOf } from "../support/axe.ts";

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };

describe("the operator's page", () => {
  let browser: Browser;
  let server: ConsoleServer;
  let page: Page;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  beforeEach(async () => {
    server = await startConsoleServer(createTestApi({ environment }));
    page = await openPage(browser, { viewport: { width: 1200, height: 900 } });
  });
  afterEach(async () => {
    await page.close();
    await server.stop();
  });
  afterAll(() => browser.close());

  async function signIn({ to = "Overview" } = {}): Promise<void> {
    await page.goto(`${server.address}/operator`);
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2, name: to }).waitFor();
  }
  const open = (address: string) => page.goto(`${server.address}/operator#/${address}`);

  it("says of each view that there is nothing yet", async () => {
    await signIn();
    for (const [view, words] of [
      ["overview", "No call has ended in the last 24 hours."],
      ["requests", "There is no request yet."],
      ["review", "No call needs review."],
      ["calls", "There is no such call."],
      ["accounts", "No call waits."],
      ["clients", "Clients that operators made"],
      ["incidents", "The ledger was not restored."],
      ["audit", "No operator has done anything yet."],
    ] as const) {
      await open(view);
      await page.getByText(words).waitFor();
      expect([view, await flawsOf(page)]).toEqual([view, []]);
    }
    await open("requests/01KAJ6Y5G0QZ3N4T7V8W9XABCD");
    await page.getByText("There is no request of this id").waitFor();
    await open("calls?call=call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000");
    await page.getByText("There is no call of this id.").waitFor();
    await open("nonsense/%E0%A4%A?state=%");
    await page.getByRole("heading", { level: 2, name: "Overview" }).waitFor();
  });

  it("says what cannot be read, and reads it when asked to try again", async () => {
    await signIn();
    for (const [view, path] of [
      ["overview", "counts"],
      ["requests", "requests"],
      ["review", "review"],
      ["calls", "calls"],
      ["accounts", "plan"],
      ["audit", "audit"],
    ] as const) {
      const address = new RegExp(`/operator/${path}(\\?|$)`);
      await page.route(address, (route) => route.abort());
      await open(view);
      const problem = page.getByText(/The service cannot be reached/).first();
      await problem.waitFor();
      expect([view, await flawsOf(page)]).toEqual([view, []]);
      await page.unroute(address);
      if (view !== "calls") {
        // It comes back by itself, or by the button.
        await page
          .getByRole("button", { name: "Try again" })
          .first()
          .click({ timeout: 5_000 })
          .catch(() => undefined);
        await problem.waitFor({ state: "detached" });
      }
    }
  });

  it("shows nothing that it could not read as closed, running or working", async () => {
    const { ledger, documents } = server.api;
    await fillWithADay(ledger, documents, Date.now());
    await page.route(/\/operator\/(pauses|backlogs)(\?|$)/, (route) =>
      route.fulfill({ status: 503, json: { detail: "The ledger cannot be reached." } }),
    );
    await signIn();
    await page.getByText("they could not be read").waitFor();
    await page.getByText("the oldest could not be read").waitFor();
    expect(await page.getByText("no provider is failing").count()).toBe(0);
    expect(await flawsOf(page)).toEqual([]);
    await open("accounts");
    const account = page.getByRole("region", { name: "Accounts and their pace" });
    await account.getByText("not known").first().waitFor();
    expect(await account.getByText("closed", { exact: true }).count()).toBe(0);
    expect(
      await page.getByRole("button", { name: /^(Pause|Resume) (agent|account)/ }).count(),
    ).toBe(0);
    await open("requests");
    await page.getByRole("link", { name: /^360 calls of research/ }).click();
    await page.getByText("It could not be read whether its agents are paused").waitFor();
    expect(await page.getByRole("button", { name: /^Pause/ }).count()).toBe(0);
    const { rows } = await ledger.list({ state: "WAITING", limit: 1 });
    await page.route(/\/operator\/why\?call_id/, (route) =>
      route.fulfill({ status: 503, json: { detail: "The ledger cannot be reached." } }),
    );
    await open(`calls?call=${rows[0]?.id}`);
    await page.getByText("It could not be read: The ledger cannot be reached.").waitFor();
    expect(await flawsOf(page)).toEqual([]);
    await page.goBack();
    await page.getByText("It could not be read whether its agents are paused").waitFor();
    await page.unroute(/\/operator\/(pauses|backlogs)(\?|$)/);
    await page.getByRole("button", { name: "Try again" }).click();
    await page
      .getByRole("button", { name: /^Pause/ })
      .first()
      .waitFor();
  });

  it("says every reason in a sentence, and its code to who has asked for codes", async () => {
    await fillWithADay(server.api.ledger, server.api.documents, Date.now());
    await signIn();
    await open("calls?state=REJECTED");
    const found = page.getByRole("region", { name: "Calls found" });
    await found.getByText("The number is on the do-not-call list.").first().waitFor();
    const shown = async () =>
      /do_not_call|outcome_unknown|breaker_open|http_/.exec(await page.locator("main").innerText());
    expect(await shown()).toBeNull();
    for (const view of ["overview", "requests", "review", "accounts", "incidents"]) {
      await open(view);
      await page.getByText("Loading …").first().waitFor({ state: "detached" });
      expect([view, await shown()]).toEqual([view, null]);
    }
    await page.getByRole("button", { name: "Show codes" }).click();
    await open("calls?state=REJECTED");
    await found.getByText("do_not_call").first().waitFor();
    await page.reload();
    await found.getByText("do_not_call").first().waitFor();
    await page.getByRole("button", { name: "Hide codes" }).click();
    await found.getByText("do_not_call").first().waitFor({ state: "hidden" });
  });

  it("says that it is loading until the first answer comes", async () => {
    await signIn();
    let answer = () => {};
    const answered = new Promise<void>((done) => (answer = done));
    await page.route(/\/operator\/requests/, async (route) => {
      await answered;
      await route.continue();
    });
    await open("requests");
    await page.getByText("Loading …").waitFor();
    answer();
    await page.getByText("There is no request yet.").waitFor();
    await page.getByText("Loading …").waitFor({ state: "detached" });
  });

  it("goes to a view that is opened while the page appears", async () => {
    await page.addInitScript(`new MutationObserver((changes, observer) => {
      if (document.querySelector("nav") === null) return;
      observer.disconnect();
      location.hash = "#/requests";
    }).observe(document, { childList: true, subtree: true });`);
    await signIn({ to: "Requests" });
    await page.getByText("There is no request yet.").waitFor();
  });

  it("stays open though a former token is refused late", async () => {
    await page.goto(`${server.address}/operator`);
    let answer = () => {};
    const answered = new Promise<void>((done) => (answer = done));
    const isRefused = page.waitForResponse(
      (response) => /\/operator\/counts/.test(response.url()) && response.status() === 401,
    );
    await page.route(
      /\/operator\/counts/,
      async (route) => {
        await answered;
        await route.continue();
      },
      { times: 1 },
    );
    await page.getByLabel("Operator's token").fill(tokens.crm);
    await page.keyboard.press("Enter");
    await page.getByText(/not an operator's/).waitFor();
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    await page.getByText("No call has ended in the last 24 hours.").waitFor();
    answer();
    await isRefused;
    await page.waitForTimeout(200);
    expect(await page.getByText("No call has ended in the last 24 hours.").isVisible()).toBe(true);
  });

  it("follows a request while it is open, without being asked", async () => {
    const { ledger, documents } = server.api;
    await fillWithADay(ledger, documents, Date.now());
    await signIn();
    await open("requests");
    await page.getByRole("link", { name: /^360 calls of research/ }).click();
    await page.getByText("91 waiting").waitFor();
    const { rows } = await ledger.list({ state: "WAITING", limit: 5000 });
    const waiting = rows.filter(({ client }) => client === "research").slice(0, 11);
    const at = Date.now();
    for (const row of waiting) {
      const next = applyAction(
        row,
        { action: { to: "CANCELLED" }, by: "ops" },
        { version: randomVersion(), at },
      );
      if (next === undefined) throw new Error("a waiting call cannot be cancelled");
      await ledger.write([{ next, seen: row.version }]);
    }
    await page.getByText("80 waiting").waitFor();
    await page.getByText("11 cancelled or redialed").waitFor();
  });
});
