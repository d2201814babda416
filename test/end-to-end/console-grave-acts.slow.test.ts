import { listDocuments, readRow } from "#test/support/reads.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CallState } from "#shared/calls/states.ts";
import { exhaustedOf } from "#shared/events/outbox-rows.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { restoreKey } from "#shared/policy/ledger-epoch.ts";
import { aCall } from "../support/calls.ts";
import { suspendedAt } from "../support/document-values.ts";
import { rowIn, writeRows } from "../support/rows.ts";
import { createTestApi } from "../support/api.ts";
import { flawsOf } from "../support/axe.ts";
import { dayPlan, fillWithADay } from "../support/believable-day.ts";
import { openPage, startBrowser } from "../support/browser.ts";
import { type ConsoleServer, startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { until } from "../support/service.ts";
import { jsonRequest } from "../support/json-request.ts";

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };

/** Timers of ten seconds and more run a hundred times slower: a busy machine is slower than an offer to undo lasts. */
const slowLongTimers = `{
  const { setTimeout } = window;
  window.setTimeout = (work, ms = 0, ...words) => setTimeout(work, ms < 10_000 ? ms : ms * 100, ...words);
}`;

describe("a nervous finger on the operator's page", () => {
  let browser: Browser;
  let server: ConsoleServer;
  let page: Page;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  beforeEach(async () => {
    const letters = new Map([["calls-00000000000000000000000000000001", '{"kind":"other"}']]);
    const api = createTestApi({ environment, letters });
    await fillWithADay(api.ledger, api.documents, Date.now());
    server = await startConsoleServer(api);
    page = await openPage(browser, { viewport: { width: 1200, height: 900 } });
    await page.addInitScript(slowLongTimers);
  });
  afterEach(async () => {
    await page.close();
    await server.stop();
  });
  afterAll(() => browser.close());

  async function open(address: string, token = tokens.operator): Promise<void> {
    await page.goto(`${server.address}/operator#/${address}`);
    await page.getByLabel("Operator's token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2 }).waitFor();
  }
  const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
  const dialog = () => page.getByRole("dialog");
  const isClosed = () => page.locator("dialog").waitFor({ state: "detached" });
  const undo = () =>
    page.getByRole("region", { name: "Can be undone" }).getByRole("button", { name: "Undo" });
  const paused = async () => {
    const found = await listDocuments(server.api.documents, "pause", { limit: 20 });
    return found.map(({ value }) => Object.values(value.of).join(" "));
  };
  const firstIn = async (state: CallState) =>
    (await server.api.ledger.list({ state, limit: 1 })).rows[0]?.id ?? "";
  const stateOf = async (id: string) => (await readRow(server.api.ledger, id))?.state;
  /** Asks the API as another operator does. */
  const ask = async (path: string, body: object) => {
    const response = await server.api.app.request(
      `/operator${path}`,
      jsonRequest(tokens.operator, "POST", body),
    );
    const answer: { listed?: boolean } = JSON.parse(await response.text());
    return answer;
  };

  it("pauses no account by a click, two clicks or Enter, but once confirmed, and takes it back", async () => {
    await open("accounts");
    await button("Pause account twilio").dblclick();
    await dialog().getByText("It stops 310 waiting calls of client crm.").waitFor();
    expect(await paused()).not.toContain("twilio");
    expect(await flawsOf(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await isClosed();
    expect(await paused()).not.toContain("twilio");
    await button("Pause account twilio").click();
    await page.route("**/operator/pause", (route) => route.fulfill({ status: 503, body: "{}" }), {
      times: 1,
    });
    await dialog().getByRole("button", { name: "Pause account twilio" }).click();
    await dialog().getByRole("alert").waitFor();
    expect(await paused()).not.toContain("twilio");
    await dialog().getByRole("button", { name: "Pause account twilio" }).click();
    await isClosed();
    await button("Resume account twilio").first().waitFor();
    expect(await paused()).toContain("twilio");
    await undo().click();
    await button("Pause account twilio").waitFor();
    expect(await paused()).not.toContain("twilio");
  });

  it("shows what can be undone above a decision that is not sent yet", async () => {
    await open("accounts");
    await button("Pause account twilio").click();
    await dialog().getByText("It stops").waitFor();
    await dialog().getByRole("button", { name: "Pause account twilio" }).click();
    await undo().waitFor();
    await page.getByRole("navigation", { name: "Views" }).getByText("Review").click();
    await button("Mark as placed P").click();
    const pending = page.getByRole("region", { name: "Decision not sent yet" });
    await pending.waitFor();
    const upper = await page.getByRole("region", { name: "Can be undone" }).boundingBox();
    const lower = await pending.boundingBox();
    expect((upper?.y ?? 0) + (upper?.height ?? 0)).toBeLessThanOrEqual(lower?.y ?? 0);
    await undo().click();
    await until(async () => !(await paused()).includes("twilio"));
    await pending.getByRole("button", { name: "Undo U" }).click();
    await pending.waitFor({ state: "detached" });
  });

  it("takes back a resumption from the list of what needs a person, and keeps the focus there", async () => {
    await open("overview");
    await button("Resume agent agent_paris").click();
    await button("Resume agent agent_paris").waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement?.id")).toBe("needs");
    expect(await paused()).not.toContain("agent_paris");
    await undo().click();
    await button("Resume agent agent_paris").waitFor();
    expect(await paused()).toContain("agent_paris");
  });

  it("asks the same from a filter, and resumes nothing that is not paused", async () => {
    await open("calls?agent_id=agent_survey");
    await page.getByText("Act on all of these …").click();
    await button("Pause agent agent_survey …").click();
    await dialog().getByText("It stops 91 waiting calls of client research.").waitFor();
    await dialog().getByLabel(/^Why/).waitFor();
    await page.keyboard.press("Escape");
    await isClosed();
    await button("Resume agent agent_survey").click();
    await page.getByText("Nothing was done: agent agent_survey is not paused.").waitFor();
  });

  it("does not take back another operator's pause", async () => {
    await open("accounts");
    const pauseIt = async () => {
      await button("Pause account twilio").click();
      await dialog().getByText("It stops").waitFor();
    };
    await pauseIt();
    await ask("/pause", { account: "twilio", reason: "blocked" });
    await dialog().getByRole("button", { name: "Pause account twilio" }).click();
    await page.getByText("It was paused already: account twilio.").waitFor();
    expect(await undo().count()).toBe(0);
    await ask("/resume", { account: "twilio" });
    await page.reload();
    await pauseIt();
    await dialog().getByRole("button", { name: "Pause account twilio" }).click();
    await undo().waitFor();
    await ask("/pause", { account: "twilio", reason: "blocked" });
    await undo().click();
    await page.getByText("Somebody has paused account twilio again: it stays paused.").waitFor();
    expect(await paused()).toContain("twilio");
    await ask("/resume", { account: "twilio" });
  });

  it("pauses a client by its name until a time, and says when that has ended", async () => {
    await open("accounts");
    await page.getByLabel("Client", { exact: true }).fill("nobody");
    await button("Pause this client …").click();
    await dialog().getByText("No call of it waits now.").waitFor();
    await dialog().getByLabel("the end of today").check();
    await dialog().getByRole("button", { name: "Pause client nobody" }).click();
    await dialog()
      .getByText(/has neither a token/)
      .waitFor();
    await page.keyboard.press("Escape");
    await isClosed();
    const ends = Date.now() + 3_600_000;
    await ask("/pause", { client: "shop", until: new Date(ends).toISOString() });
    await page.reload();
    await page.getByText(/^client shop, by operator since .*, until /).waitFor();
    await ask("/resume", { client: "shop" });
    await page.clock.setFixedTime(ends + 1);
    await button("Pause account twilio").click();
    await dialog().getByRole("button", { name: "Pause account twilio" }).click();
    await page.getByText(/^client shop, by operator until .*: it has ended/).waitFor();
    await undo().click();
  });

  it("cancels no call and makes none again before it is confirmed", async () => {
    const waiting = await firstIn("WAITING");
    await open(`calls?state=WAITING&call=${waiting}`);
    for (const answer of ["Let it wait", "Cancel the call"]) {
      expect(await stateOf(waiting)).toBe("WAITING");
      await button("Cancel this call").dblclick();
      await dialog()
        .getByText(/^One call of client /)
        .waitFor();
      expect(await flawsOf(page)).toEqual([]);
      if (answer === "Let it wait") await page.keyboard.press("Enter");
      else await dialog().getByRole("button", { name: answer }).click();
      await isClosed();
    }
    await until(async () => (await stateOf(waiting)) === "CANCELLED");
    const rejected = await firstIn("REJECTED");
    await page.goto(`${server.address}/operator#/calls?state=REJECTED&call=${rejected}`);
    await button("Call again …").click();
    await dialog().waitFor();
    await page.keyboard.press("Enter");
    await isClosed();
    expect(await stateOf(rejected)).toBe("REJECTED");
    await button("Call again …").click();
    await dialog().getByRole("button", { name: "Call again" }).click();
    await until(async () => (await stateOf(rejected)) === "REDIALED");
  });

  it("undoes an addition to the do-not-call list, but not of who was on it before", async () => {
    const [before, added] = ["+13035550901", "+13035550902"];
    await ask("/do-not-call", { add: [before] });
    await open("do-not-call");
    const lines = page.getByLabel("Phone numbers, one a line");
    await lines.fill("303 555-0901\n+1 (303) 555-0902\n303 555 09\nAda");
    await page
      .getByText("Read as 2 numbers: +1 303 555 0901, United States; +1 303 555 0902")
      .waitFor();
    await page
      .getByText("Not read: line 3 has too few or too many digits for US; line 4")
      .waitFor();
    // A line that cannot be read is not taken for listed.
    expect(await button("Add").isDisabled()).toBe(true);
    await lines.fill("303 555-0901\n+1 (303) 555-0902");
    await button("Add 2 numbers").click();
    const isListed = async (phone_number: string) =>
      (await ask("/do-not-call/check", { phone_number })).listed;
    await undo().waitFor();
    expect([await isListed(before), await isListed(added)]).toEqual([true, true]);
    await undo().click();
    await until(async () => (await isListed(added)) === false);
    expect(await isListed(before)).toBe(true);
  });

  it("shows how a number is understood in each field, before anything is asked about it", async () => {
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") asked.push(new URL(request.url()).pathname);
    });
    await open("do-not-call");
    const shown = async (label: string) => {
      const field = page.getByLabel(label, { exact: true });
      await field.focus();
      await page.getByText("Without +, the country is United States.").first().waitFor();
      await field.fill("(202) 555-0142");
      await page.getByText("Read as +1 202 555 0142, United States").waitFor();
      await field.fill("202 555 014");
      await page.getByText("It has too few or too many digits for US.").waitFor();
      await field.fill("tel:+44 20 7946 0018");
      await page.getByText("Read as +44 20 7946 0018, United Kingdom").waitFor();
      await field.fill("");
    };
    for (const label of ["Phone number", "Number to erase"]) await shown(label);
    await page.getByLabel("Number to erase").fill("(202) 555-0142");
    await button("Erase …").click();
    await dialog().getByText("Erase all that is known of +1 202 555 0142").waitFor();
    await page.keyboard.press("Escape");
    await page.goto(`${server.address}/operator#/calls`);
    await page.getByText("Filters", { exact: true }).click();
    await shown("Number");
    expect(asked).toEqual(["/operator/calls/search"]); // the calls that an erasure is about
  });

  it("does what incidents ask for, each act only once it is confirmed", async () => {
    await server.stop();
    const letter = "calls-00000000000000000000000000000001";
    const api = createTestApi({ letters: new Map([[letter, '{"kind":"other"}']]) });
    server = await startConsoleServer(api);
    const [client, at] = ["told-ends", Date.now() - 60_000];
    const event = { sequence: 1, state: "PLACED", reason: "placed", attempt: 1, at } as const;
    const delivered = { ...event, type: "call.placed" } as const;
    const exhausted = {
      ...event,
      sequence: 2,
      type: "call.ended",
      tries: 10,
      exhausted: true,
    } as const;
    const row = {
      ...rowIn("PLACED", aCall({ client, acceptedAt: at })),
      events: [delivered, exhausted],
      deliverTo: exhaustedOf(client),
      deliverAt: at,
    };
    await writeRows([row], api.ledger, api.documents);
    const restore = async (more: Parameters<typeof suspendedAt>[1] = {}) => {
      const { kind, key } = restoreKey;
      const seen = (await api.documents.read([restoreKey])).get(kind, key)?.version ?? null;
      const value = suspendedAt(at, more);
      const next = { kind, key, version: randomVersion(), value, expiresAt: null };
      expect(await api.documents.write([{ next, seen }])).toEqual([true]);
    };
    const restored = async () =>
      (await api.documents.read([restoreKey])).get("restore", restoreKey.key)?.value.state;
    await restore();
    await open("incidents");
    await button(`Replay 7 days of ${client}`).click();
    await page.getByText("1 event will be delivered again, at the receiver's pace.").waitFor();
    expect((await readRow(api.ledger, row.id))?.events[1]).not.toHaveProperty("exhausted");
    await button(`Show what ${letter} carries`).click();
    await page.getByText('{"kind":"other"}').waitFor();
    expect(await flawsOf(page)).toEqual([]);
    await button("Hide it").click();
    const wentBack = async () => {
      const local = "new Date(Date.now() - 120_000 - new Date().getTimezoneOffset() * 60_000)";
      const text = await page.evaluate<string>(`${local}.toISOString().slice(0, 19)`);
      await page.getByLabel(/^The ledger went back to \(/).fill(text);
      await button("Confirm …").click();
      await dialog().getByText("people are called twice").waitFor();
    };
    await page.getByText("The ledger was restored, and nothing is dialed.").waitFor();
    await wentBack();
    expect(await flawsOf(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await isClosed();
    expect(await restored()).toBe("suspended");
    await wentBack();
    await button("Confirm this time").click();
    await page.getByText("The calls of the restored ledger are being checked").waitFor();
    expect(await restored()).toBe("confirmed");
    await restore({ state: "done" });
    await page.reload();
    await page.getByText("Declare a restore that the service has not noticed").click();
    await wentBack();
    await button("Confirm this time").click();
    await until(async () => (await restored()) === "confirmed");
  });

  it("gives a client a receiver, and retires a former key where there is one", async () => {
    await server.stop();
    server = await startConsoleServer(createTestApi());
    await open("clients");
    await page.getByLabel("Name of the client").fill("acme");
    await page.getByLabel("Agents (* is all)").fill("agent_sales");
    await button("Make or change the client").click();
    await page.getByLabel("Client whose events are delivered").selectOption("acme");
    await page.getByLabel("URL of its receiver").fill("https://acme.example.com/events");
    await button("Make or replace the receiver").click();
    await page.getByText("The receiver's secret, shown only now: whsec_").waitFor();
    const delivered = "Events of acme are delivered to https://acme.example.com/events.";
    await page.getByText(delivered).waitFor();
    await page.getByLabel("Client with receivers").fill("acme");
    await button("Show its receivers").click();
    await page.getByRole("cell", { name: "https://acme.example.com/events" }).waitFor();
    await button("Delete … receiver main").click();
    expect(await flawsOf(page)).toEqual([]);
    await button("Delete it for good").click();
    await page.getByText("Receiver main of acme is deleted.").waitFor();
    await page.getByText("This client has no receiver of its own.").waitFor();
    await page.goto(`${server.address}/operator#/do-not-call`);
    await page.getByText("After a rotation of HASH_KEY").click();
    await button("Retire the former key …").click();
    await dialog().getByText("It is refused while").waitFor();
    await page.keyboard.press("Enter");
    await isClosed();
    expect(await page.getByRole("status").textContent()).toBe("");
    await button("Retire the former key …").click();
    expect(await flawsOf(page)).toEqual([]);
    await button("Retire it").click();
    await page.getByText("HASH_KEY holds one key: there is no former one.").waitFor();
  });

  it("finds no button that its token has no role for", async () => {
    const grave =
      /Pause|Resume|Cancel|Call again|placed|Add|Remove|Erase|Show number|Replay|Put back|Discard|Delete|Make|Revoke|Confirm|Retire|Show what/;
    const waiting = await firstIn("WAITING");
    const views: readonly (readonly [address: string, shown: string | RegExp])[] = [
      ["accounts", "Waiting calls by agent and client"],
      [`calls?call=${waiting}`, "What happened"],
      ["review", /^Call 1 of /],
      ["do-not-call", "To check a number, a token needs the role find"],
      ["incidents", "calls-00000000000000000000000000000001"],
      ["clients", "Usage and cost"],
    ];
    await open("overview", tokens.opsSee);
    for (const [address, shown] of views) {
      await page.goto(`${server.address}/operator#/${address}`);
      await page.getByText(shown).first().waitFor();
      await page.waitForLoadState("networkidle");
      expect([address, await button(grave).allTextContents()]).toEqual([address, []]);
    }
    let failed = 0;
    await page.route("**/operator/me", async (route) => {
      failed += 1;
      await route.fulfill({ status: 503, body: "{}" });
    });
    await page.reload();
    await page.getByText(/^Buttons are missing, as the token's roles could not be read/).waitFor();
    const before = failed;
    await button("Try again").click();
    await until(() => failed > before);
    await page.unroute("**/operator/me");
    // It comes back by itself, or by the button.
    await button("Try again")
      .click({ timeout: 5_000 })
      .catch(() => undefined);
    await page.getByText("Buttons are missing").waitFor({ state: "detached" });
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await open("do-not-call", tokens.opsDecide);
    await button("Add").waitFor();
    expect(await button(/Remove|Erase/).count()).toBe(0);
  });
});
