import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { requestIdOf } from "#shared/calls/ids.ts";
import type { CallState } from "#shared/calls/states.ts";
import { createTestApi } from "../support/api.ts";
import { flawsOf } from "../support/axe.ts";
import { openPage, readDownload, startBrowser } from "../support/browser.ts";
import { aCall } from "../support/calls.ts";
import { type ConsoleServer, startConsoleServer } from "../support/console-server.ts";
import { tokens } from "../support/environment.ts";
import { rowIn, writeRows } from "../support/rows.ts";

/** The refresh of a list, and some time for its requests. */
const refreshMs = 11_000;

describe("a list of the operator's page", () => {
  let browser: Browser;
  let server: ConsoleServer;
  let page: Page;
  let asked = 0;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  beforeEach(async () => {
    server = await startConsoleServer(createTestApi());
    page = await openPage(browser, { viewport: { width: 1200, height: 900 } });
    asked = 0;
    page.on("request", (request) => {
      if (/\/operator\/(calls|requests)/.test(request.url())) asked += 1;
    });
    await page.clock.install();
    await page.goto(`${server.address}/operator#/audit`);
    await page.getByLabel("Operator's token").fill(tokens.operator);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 2 }).waitFor();
  });
  afterEach(async () => {
    await page.close();
    await server.stop();
  });
  afterAll(() => browser.close());

  const startedAt = Date.now() - 3_600_000;
  /** Writes calls of one state, each a second older than the one before. */
  async function write(
    count: number,
    {
      state = "PLACED",
      reason = "placed",
      client = "crm",
      ageSeconds = 0,
    }: { state?: CallState; reason?: string; client?: string; ageSeconds?: number } = {},
  ) {
    const calls = Array.from({ length: count }, (_, n) =>
      aCall({ client, first: "request", acceptedAt: startedAt - (ageSeconds + n) * 1000 }),
    );
    const rows = calls.map((call) => rowIn(state, call, { reason }));
    await writeRows(rows, server.api.ledger, server.api.documents);
    return rows;
  }
  const open = (address: string) => page.goto(`${server.address}/operator#/${address}`);
  const found = () => page.getByRole("region", { name: "Calls found" }).locator("tbody tr");
  const idsShown = () =>
    found()
      .locator("th a")
      .evaluateAll((links) => links.map((link) => link.getAttribute("title") ?? ""));
  const shows = (count: number) => expect.poll(() => found().count()).toBe(count);
  /** Waits until a list that renews a page at each turn has so many. */
  const showsInTurn = (count: number) =>
    expect
      .poll(() => page.clock.fastForward(refreshMs).then(() => found().count()), {
        interval: 200,
      })
      .toBe(count);
  const setVisibility = (value: "visible" | "hidden") =>
    page.evaluate(
      `Object.defineProperty(document, "visibilityState", { value: "${value}", configurable: true });
       document.dispatchEvent(new Event("visibilitychange"));`,
    );
  const more = (of: Page) => of.getByRole("button", { name: "More" });

  it("keeps the pages that were asked for, and each call once, while it renews them", async () => {
    const rows = await write(120);
    const ids = rows.map(({ id }) => id);
    await open("calls?state=PLACED");
    await shows(50);
    await more(page).click();
    await shows(100);
    await more(page).click();
    await shows(120);
    await page.clock.fastForward(refreshMs);
    await page.getByText("Loading").waitFor({ state: "detached" });
    await expect.poll(() => asked).toBeGreaterThan(4);
    expect(await idsShown()).toEqual(ids);
    expect(await flawsOf(page)).toEqual([]);

    const newer = (await write(10, { ageSeconds: -10 })).map(({ id }) => id);
    await page.clock.fastForward(refreshMs);
    await shows(130);
    expect(await idsShown()).toEqual([...newer, ...ids]);
    // The pages are read again in turn: a call that has left the list goes.
    const [gone] = rows.slice(90);
    await server.api.ledger.purge([gone?.id ?? ""]);
    await showsInTurn(129);
    expect(await idsShown()).not.toContain(gone?.id);
  });

  it("says that newer calls came in than it can join, and shows them when asked", async () => {
    const [gone] = await write(60);
    await open("calls?state=PLACED");
    await shows(50);
    await more(page).click();
    await shows(60);
    await write(80, { ageSeconds: -80 });
    await page.clock.fastForward(refreshMs);
    await page.getByText("Newer ones came in.").waitFor();
    await shows(60);
    await server.api.ledger.purge([gone?.id ?? ""]);
    await showsInTurn(59); // the shown ones are renewed all the same
    await page.getByRole("button", { name: "Show the newest" }).click();
    await shows(50);
  });

  it("continues by itself to calls older than the newest thousand, and says how far it looked", async () => {
    const few = await write(3, { reason: "rare", ageSeconds: 7200 });
    await write(2_300);
    await open("calls?reason=rare");
    await page
      .getByText(/Looked back to/)
      .first()
      .waitFor();
    await shows(3);
    expect(await idsShown()).toEqual(few.map(({ id }) => id));
    await page.getByText("Looked back").waitFor({ state: "detached" }); // it has reached the end
    await open("calls?reason=never");
    await page.getByText("There is no such call.").waitFor();
  });

  it("finds a client's old calls at once, and its requests", async () => {
    const few = await write(3, { client: "shop", ageSeconds: 7200 });
    await write(2_300);
    await open("calls");
    await page.getByText("Filters", { exact: true }).click();
    await page.getByLabel("Client").fill("shop");
    await page.getByLabel("Client").press("Enter"); // the heading of a new view takes the focus
    await shows(3);
    expect(page.url()).toContain("client=shop");
    expect(await idsShown()).toEqual(few.map(({ id }) => id));
    expect(await page.getByText("Looked back").count()).toBe(0);
    await open("requests?calls_min=1");
    await page.getByText("of crm").first().waitFor();
    await page.getByText("Filters", { exact: true }).click();
    await page.getByLabel("Client").fill("shop");
    await page.getByLabel("Client").press("Enter"); // the heading of a new view takes the focus
    await page.getByText("of shop").nth(2).waitFor();
    expect(await page.getByText("of crm").count()).toBe(0);
    expect(await flawsOf(page)).toEqual([]);
  });

  it("finds calls, requests, numbers and names in one box, and no number stands in an address", async () => {
    const [row] = await write(1, { client: "shop" });
    await write(1_200, { ageSeconds: -1_200 });
    const id = row?.id ?? "";
    const addresses: string[] = [];
    page.on("request", (request) => addresses.push(request.url()));
    const box = page.getByLabel("Find anything");
    const find = async (text: string) => {
      await box.fill(text);
      await page.keyboard.press("Enter");
    };
    await find(id.toLowerCase());
    await page.getByRole("region", { name: `Call ${id}` }).waitFor();
    expect(await box.inputValue()).toBe("");
    await find(requestIdOf(id));
    await expect.poll(() => page.url()).toContain(`#/requests/${requestIdOf(id)}`);
    await find("shop");
    await expect.poll(() => page.url()).toContain("#/calls?client=shop");
    await shows(1);
    await find("001 (202) 555-0123");
    await expect.poll(() => page.url()).toMatch(/#\/calls$/);
    await expect
      .poll(() => page.getByLabel("Number", { exact: true }).inputValue())
      .toBe("+12025550123");
    await shows(50);
    await find("+1 202 555 0197");
    await page.getByText("There is no call to +12025550197.").waitFor();
    const link = page.getByRole("link", { name: /^Look through all calls/ });
    await find("0151 23456789");
    await page.getByText(/^Nothing has this id or name/).waitFor();
    expect(await link.count()).toBe(0);
    await find("(202) 555-0123");
    await page.getByText(/it is no phone number\. One of another country begins with \+/).waitFor();
    // The beginning of a name or an id, in any case, finds what it may mean.
    const near = (name: string) =>
      page.getByRole("list", { name: "Did you mean" }).getByRole("link", { name, exact: true });
    await find("AGENT_SAL");
    expect(await flawsOf(page)).toEqual([]);
    await near("agent agent_sales").click();
    await expect.poll(() => page.url()).toMatch(/#\/calls\?agent_id=agent_sales$/);
    await find(requestIdOf(id).slice(0, 22).toLowerCase());
    await near(`request ${requestIdOf(id)}`).click();
    await expect.poll(() => page.url()).toContain(`#/requests/${requestIdOf(id)}`);
    await find("CA123");
    await page
      .getByRole("link", { name: "Look through all calls for a provider's call id" })
      .click();
    await page.getByText("There is no such call.").waitFor();
    expect(addresses.join(" ")).not.toContain("2025550");
    expect(await flawsOf(page)).toEqual([]);
  });

  it("keeps the answer of the last search, and what is typed meanwhile", async () => {
    await write(3);
    const box = page.getByLabel("Find anything");
    const late = Promise.withResolvers<void>();
    await page.route("**/operator/search", async (route) => {
      if ((route.request().postData() ?? "").includes("AGENT_SAL")) await late.promise;
      await route.continue();
    });
    const answered = () =>
      page.waitForResponse("**/operator/search").then((response) => response.finished());
    await box.fill("AGENT_SAL");
    await page.keyboard.press("Enter");
    const second = answered();
    await box.fill("nothing");
    await page.keyboard.press("Enter");
    await second;
    await page.getByText(/^Nothing has this id or name/).waitFor();
    const first = answered();
    late.resolve();
    await first;
    await page.evaluate("new Response('{}').json()"); // the page has read its own answer by now
    expect(await page.getByRole("list", { name: "Did you mean" }).count()).toBe(0);
    await page.unroute("**/operator/search");
    const held = Promise.withResolvers<void>();
    await page.route("**/operator/search", async (route) => {
      await held.promise;
      await route.continue();
    });
    await box.fill("crm");
    await page.keyboard.press("Enter");
    await box.fill("agent");
    held.resolve();
    await expect.poll(() => page.url()).toContain("#/calls?client=crm");
    expect(await box.inputValue()).toBe("agent");
    await page.unroute("**/operator/search");
  });

  it("shows the calls of a time, which stands in the address as an instant", async () => {
    const rows = await write(120); // each a second older than the one before
    await open("calls");
    await page.getByText("Filters", { exact: true }).click();
    const until = Math.floor(startedAt / 60_000) * 60_000;
    const from = until - 60_000;
    const local = (ms: number) => {
      const offset = `new Date(${ms}).getTimezoneOffset() * 60_000`;
      return page.evaluate<string>(`new Date(${ms} - ${offset}).toISOString().slice(0, 16)`);
    };
    await page.getByLabel(/^Accepted from \(/).fill(await local(from));
    await page.getByLabel(/^Accepted until \(/).fill(await local(until));
    await page.getByRole("button", { name: "Search" }).click();
    const query = new URLSearchParams({
      from: new Date(from).toISOString(),
      until: new Date(until).toISOString(),
    });
    await expect.poll(() => page.url()).toContain(`#/calls?${query.toString()}`);
    const inTime = rows
      .filter(({ acceptedAt }) => acceptedAt >= from && acceptedAt < until)
      .map(({ id }) => id);
    expect(inTime.length).toBeGreaterThan(50);
    await expect.poll(idsShown).toEqual(inTime.slice(0, 50));
    await page.reload();
    await expect.poll(idsShown).toEqual(inTime.slice(0, 50));
    expect(await page.getByLabel(/^Accepted from \(/).inputValue()).toBe(await local(from));
  });

  it("saves the calls of a filter as a file, and every other list", async () => {
    const rows = await write(450, { client: "shop" });
    await write(20, { ageSeconds: -20 });
    await open("calls?client=shop");
    await shows(50);
    const download = async (name: string) => {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name }).click(),
      ]);
      return { name: file.suggestedFilename(), text: await readDownload(file) };
    };
    const csv = await download("Export CSV");
    expect(csv.name).toBe("calls.csv");
    const [head = "", ...lines] = csv.text.trim().split("\r\n");
    expect(head).toMatch(/^id,state,reason,/);
    expect(lines.map((line) => line.split(",")[0])).toEqual(rows.map(({ id }) => id));
    await page.getByText("Saved 450 rows, all of the list.").waitFor();
    expect(await flawsOf(page)).toEqual([]);
    const { text } = await download("Export NDJSON");
    const ids = text
      .trim()
      .split("\n")
      .map((line) => String(Object(JSON.parse(line)).id));
    expect(ids).toEqual(rows.map(({ id }) => id));
    expect(text).not.toMatch(/2025550123/);
    await open("requests?calls_min=1&client=shop");
    await page.getByText("of shop").first().waitFor();
    const requests = await download("Export CSV");
    expect(requests.text.trim().split("\r\n")).toHaveLength(451);
    await open("audit");
    expect((await download("Export CSV")).text).toBe("at,by,action,target,count,reason\r\n");
  });

  it("stops when asked to, and reads nothing while the page is hidden", async () => {
    await write(2_300);
    await open("calls?reason=never");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("None found so far.").waitFor();
    const before = asked;
    await page.clock.fastForward(5_000);
    await page.waitForTimeout(200);
    expect(asked).toBe(before);
    await setVisibility("hidden");
    const answered = page.waitForResponse(/\/operator\/calls/);
    await more(page).click();
    // The page's own time limit runs on the clock that is moved now.
    await (await answered).finished();
    expect(asked).toBe(before + 1);
    await page.waitForTimeout(200);
    for (let turns = 0; turns < 8; turns++) await page.clock.fastForward(refreshMs);
    await page.waitForTimeout(200);
    expect(asked).toBe(before + 1);
    await setVisibility("visible");
    await page.getByText("There is no such call.").waitFor();
  });
});
