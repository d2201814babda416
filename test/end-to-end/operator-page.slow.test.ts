import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createToken } from "#shared/settings/tokens.ts";
import { openContext, startBrowser } from "../support/browser.ts";
import { flawsOf } from "../support/axe.ts";
import { cloudflare } from "../support/platforms.ts";
import { openLocalD1 } from "../support/local-d1.ts";
import { token } from "../support/open-service.ts";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/service.ts";
import { useOpenService } from "../support/use-open-service.ts";
import { awkward, requestIds, seeds } from "./operator-page-seeds.ts";

const operator = createToken();
describe("the operator's page", () => {
  let browser: Browser | undefined;
  let page: Page;
  /** Complaints of the browser, and the hosts it contacted. */
  const complaints: string[] = [];
  const asked = new Set<string>();

  const bench = useOpenService(
    cloudflare,
    async () => ({
      receiver: await startReceiver((_request, response) => response.end('{"id":"CA1"}')),
    }),
    ({ receiver }) => ({
      plan: {
        agents: { "*": { provider: "webhook", url: `${receiver.url}/dial` } },
        reviewAfterSeconds: 86_400,
      },
      environment: { OPERATOR_TOKENS: JSON.stringify([{ id: "ops", sha256: operator.sha256 }]) },
    }),
  );
  beforeAll(async () => {
    using database = await openLocalD1(bench.service.stateDirectory);
    database.exec(seeds());
    browser = await startBrowser();
    const context = await openContext(browser, { viewport: { width: 1200, height: 900 } });
    page = await context.newPage();
    page.on("console", (message) => {
      // A refused request is told by its response below, with the token that it bore.
      if (["error", "warning"].includes(message.type()) && !/status of \d/.test(message.text()))
        complaints.push(message.text());
    });
    page.on("response", (response) => {
      const isClients = response.request().headers()["authorization"] === `Bearer ${token}`;
      if (response.status() >= 400 && !(isClients && response.status() === 401))
        complaints.push(`${response.status()} ${response.url()}`);
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
    await page.goto(`${bench.service.address}/operator`);
  });
  afterAll(async () => {
    await browser?.close();
  });

  const said = () => page.getByRole("status").textContent();
  const hasSaid = (words: RegExp) => until(async () => words.test((await said()) ?? ""));
  const button = (name: string | RegExp) => page.getByRole("button", { name });
  /** Opens a view, or a list of calls by its filter. */
  const open = (address: string) => page.goto(`${bench.service.address}/operator#/${address}`);
  const found = () => page.getByRole("region", { name: "Calls found" });
  const rows = (count: number) =>
    until(async () => (await found().getByRole("row").count()) === count + 1);
  const card = (name: RegExp) =>
    page.getByRole("list", { name: "Now" }).getByRole("link", { name });

  it("lets in an operator's token, by the keyboard alone, and no client's", async () => {
    const field = page.getByLabel("Operator's token");
    expect(await flawsOf(page)).toEqual([]);
    await field.fill(token);
    await page.keyboard.press("Enter");
    await hasSaid(/not an operator's/);
    await field.fill(operator.token);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Last 24 hours" }).waitFor();
    expect(page.url()).not.toContain(operator.token);
  });

  it("shows the current counts and those of each hour", async () => {
    await card(/^To review 45/).waitFor();
    await card(/^Waiting 30/).waitFor();
    expect(await page.locator("svg rect").count()).toBeGreaterThan(20);
    await page.getByText("As a table").click();
    expect(await page.getByRole("table").first().getByRole("row").count()).toBeGreaterThan(3);
    await page.getByText("As a table").click();
    await open("accounts");
    await page
      .getByRole("row", { name: /^agent_1 crm 10 The calling hours are closed\. in 10 hours/ })
      .waitFor();
    await page
      .getByRole("row", { name: /^agent_2 crm 10 The circuit breaker of crm's calls to agent_2/ })
      .waitFor();
    await open("calls?state=NEEDS_REVIEW");
    await rows(45);
    expect(await page.content()).not.toMatch(/303555\d{4}|Ada/);
  });

  it("finds a call that needs review, shows it when asked to, and has it made again", async () => {
    await open("calls?state=NEEDS_REVIEW");
    await page.getByText("Filters", { exact: true }).click();
    await page.getByLabel("Agent").fill("reviewed_one");
    await button("Search").click();
    await rows(1);
    await found().getByRole("link").click();
    const call = page.getByRole("region", { name: /^Call call_/ });
    await call.getByText("What happened").waitFor();
    expect(await call.textContent()).not.toContain("303555");
    await call.getByRole("button", { name: "Show number and context" }).click();
    await call.getByText("+13035550300").waitFor();
    expect(await call.textContent()).toContain(awkward);
    expect(await page.title()).toMatch(/^(\(\d+\) )?Calls · Outbound Calls: operator$/);
    expect(await flawsOf(page)).toEqual([]);
    await call.getByRole("button", { name: "Not placed: call again" }).click();
    await page.getByRole("button", { name: "Call again", exact: true }).click();
    await button("Send now").click();
    await hasSaid(/^The call is made again as call_/);
    await until(() => bench.servers.receiver.received.length === 1);
    expect(JSON.parse(bench.servers.receiver.received[0]?.text ?? "")).toMatchObject({
      phone_number: "+13035550300",
      context: { name: awkward },
    });
    await call.getByText("Redialed as").waitFor();
    // The button may be used repeatedly, in case the queue lost the call: it is the same call, made once.
    const [made] = /The call is made again as \w+\./.exec((await said()) ?? "") ?? [];
    await call.getByRole("button", { name: "Send the new call again" }).click();
    await page.waitForTimeout(4000);
    expect(await said()).toBe(made);
    expect(bench.servers.receiver.received).toHaveLength(1);
    await call.getByRole("link", { name: "Close" }).click();
  });

  it("cancels the waiting calls of a request, once confirmed", async () => {
    const request = requestIds["WAITING"] ?? "";
    await open(`calls?state=WAITING&request_id=${request}`);
    await rows(30);
    await button(`Cancel the waiting calls of request ${request}`).click();
    await button("Leave them").click();
    await button(`Cancel the waiting calls of request ${request}`).click();
    await button("Cancel these calls").click();
    await hasSaid(new RegExp(`^30 waiting calls of request ${request} cancelled`));
    await page.getByText("There is no such call.").waitFor();
    expect(bench.servers.receiver.received).toHaveLength(1);
  });

  it("pauses an account, so that its calls wait, and resumes it", async () => {
    await open("accounts");
    await button("Pause account webhook").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Pause account webhook" }).click();
    await hasSaid(/^Paused: account webhook/);
    await bench.post({ phone_number: "+13035550999", agent_id: "agent_9" });
    // The view reads anew by itself while it is open.
    const held = page.getByRole("row", { name: /^agent_9 test 1 Paused: account webhook\./ });
    await held.waitFor();
    expect(await held.textContent()).not.toContain("303555");
    await open("overview");
    await card(/^Waiting 1/).waitFor();
    await page.locator("main").getByText("Paused: account webhook.").first().waitFor();
    await open("calls?state=WAITING&reason=paused");
    await found().getByRole("cell", { name: "Paused: account webhook." }).waitFor();
    await open("accounts");
    await button("Resume account webhook").first().click();
    await hasSaid(/^Resumed/);
    await until(() => bench.servers.receiver.received.length === 2);
  });

  it("shows what opened a circuit breaker, and closes it", async () => {
    const paused = page.getByRole("region", { name: "Paused" });
    const text =
      /of the calls of crm to the agent agent_2 is open since .* 20 refusals in a row: The provider does not know .*, of numbers of US \(20\)/;
    await paused.getByText(text).waitFor();
    await button("Resume the circuit breaker of crm's calls to agent_2").click();
    await hasSaid(/^Resumed: the circuit breaker of crm's calls to agent_2/);
    await paused.getByText("Nothing is paused.").waitFor();
    await page.getByText("No call waits.").waitFor();
  });

  it("keeps the do-not-call list", async () => {
    await open("do-not-call");
    await page.getByLabel("Phone numbers, one a line").fill("+13035550998");
    await button("Add").click();
    await hasSaid(/^Added/);
    await page.getByLabel("Phone number", { exact: true }).fill("+13035550998");
    await button("Check").click();
    await hasSaid(/^\+1 303 555 0998, United States is on the list/);
    await page.getByLabel("Phone number", { exact: true }).fill("555");
    await page.getByText(/^It .*country code/).waitFor();
  });

  it("erases a number once it was asked again", async () => {
    await page.getByLabel("Number to erase").fill("+13035550998");
    await button("Erase …").click();
    await button("Leave it").click();
    await button("Erase …").click();
    await page.getByText("It has 0 calls, 0 of them waiting.", { exact: true }).waitFor();
    await button("Erase it for good").click();
    await hasSaid(/^Erased 0 calls/);
  });

  it("has logged no error, and contacted no other host", async () => {
    expect(complaints).toEqual([]);
    expect([...asked].filter((origin) => origin !== "null")).toEqual([bench.service.root]);
    await button("Sign out").click();
    await page.reload();
    await page.getByLabel("Operator's token").waitFor();
  });
});
