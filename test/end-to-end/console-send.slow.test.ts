import { execFile } from "node:child_process";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { divideLeads, sha256 } from "#shared/leads/divide-leads.ts";
import { createTestApi } from "../support/api.ts";
import { flawsOf } from "../support/axe.ts";
import { openContext, readDownload, startBrowser } from "../support/browser.ts";
import { type ConsoleServer, startConsoleServer } from "../support/console-server.ts";
import { apiEnvironment, tokens } from "../support/environment.ts";
import { press, tabTo, type } from "../support/keyboard.ts";
import { makeLeadFile, readWhole } from "../support/lead-file.ts";
import { until } from "../support/service.ts";
import { jsonRequest } from "../support/json-request.ts";

const simulated = {
  agents: { "*": { provider: "simulator" } },
  callingHours: { default: "always" },
  destinations: { allow: ["US"] },
};

let browser: Browser | undefined;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

let server: ConsoleServer;
let context: BrowserContext;
let page: Page;
const complaints: string[] = [];
/** Time by which the service's clock is ahead. */
let later = 0;

/** Opens the page of a service in memory, signed in by the keyboard. */
async function open(
  view: string,
  {
    width = 1024,
    colorScheme = "light",
    locale = "en-US",
  }: { width?: number; colorScheme?: "light" | "dark"; locale?: string } = {},
): Promise<void> {
  const environment = {
    ...apiEnvironment,
    DIAL_PLAN: JSON.stringify(simulated),
    ALLOW_SIMULATOR: "true",
  };
  later = 0;
  server = await startConsoleServer(createTestApi({ environment, now: () => Date.now() + later }));
  if (browser === undefined) throw new Error("there is no browser");
  const viewport = { width, height: 900 };
  context = await openContext(browser, { viewport, colorScheme, locale });
  page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(`${server.address}/operator#/${view}`);
  await type(page, page.getByLabel("Operator's token"), tokens.operator);
  await page.keyboard.press("Enter");
}
afterEach(async () => {
  await context.close();
  await server.stop();
  expect(complaints.splice(0)).toEqual([]);
});

const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
const said = (words: RegExp) =>
  until(async () => words.test((await page.getByRole("status").textContent()) ?? ""));
async function choose(name: string, text: string): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await press(page, page.getByLabel(/^Drop a file of leads here/));
  const file = { name, mimeType: "text/csv", buffer: Buffer.from(text) };
  await (await chooser).setFiles(file);
}
async function fillCampaign(campaign = "spring"): Promise<void> {
  await type(page, page.getByLabel("Name of the campaign"), campaign);
  await page.keyboard.press("Enter");
}
async function queued(): Promise<
  { labels: { campaign: string }; requests: { phone_number: string }[] }[]
> {
  return Promise.all(server.api.queue.take().map(async (one) => JSON.parse(await one.open())));
}

/** Chooses a file and an agent, and waits until its leads are read. */
async function read(name: string, text: string, leads: number): Promise<void> {
  await choose(name, text);
  await type(page, page.getByLabel("Agent of rows that name none"), "agent_sales");
  await page.getByRole("heading", { name: `${leads} leads` }).waitFor();
}

describe("by the keyboard alone", () => {
  it("a CSV becomes a campaign, and the same CSV nobody's second call", async () => {
    const { csv, numbers, badLines } = makeLeadFile(100);
    await open("send");
    await choose("leads.xlsx", "PK\u0003\u0004");
    await page.getByText("The file is a workbook or an archive").waitFor();
    await read("leads.csv", csv, numbers.length);
    const refused = page.getByRole("region", { name: "Rows that are not sent, by the file" });
    for (const line of badLines) {
      await refused.getByRole("rowheader", { name: String(line), exact: true }).waitFor();
    }
    await page.getByRole("row", { name: "7 (303) 555-0005 +13035550005" }).waitFor();
    const downloaded = page.waitForEvent("download");
    await press(page, page.getByRole("link", { name: /^Download these rows/ }));
    const fix = await readDownload(await downloaded);
    expect(fix).toMatch(/^\ufeffline,refused because,Name,Mobile,Segment\n2,phone number: none is/);
    // A column may be given another meaning, and gets its own back.
    await tabTo(page, page.getByLabel("Meaning of Mobile"));
    await page.keyboard.press("End");
    await page.getByText("Choose one column for the phone number.").waitFor();
    await page.keyboard.press("Home");
    await page.getByRole("heading", { name: `${numbers.length} leads` }).waitFor();
    await fillCampaign();
    await button(`Send these ${numbers.length}`).waitFor();
    expect([await flawsOf(page), await queued()]).toEqual([[], []]);
    await press(page, button(`Send these ${numbers.length}`));
    await said(/^Sent: 97 calls as campaign spring/);
    const [request, ...others] = await queued();
    expect([request?.labels.campaign, others]).toEqual(["spring", []]);
    expect(request?.requests.map(({ phone_number }) => phone_number)).toEqual(numbers.toSorted());
    const campaign = page.getByRole("link", { name: "campaign spring" });
    expect(await campaign.getAttribute("href")).toBe("#/campaigns/spring?client=crm");

    await page.reload();
    const [header = "", ...rows] = csv.trim().split("\r\n");
    await read("same.csv", [header, ...rows.toReversed()].join("\n"), numbers.length);
    await fillCampaign();
    await page.getByText(/These leads were sent at .* as campaign spring\. Nobody/).waitFor();
    expect(await button(/^Send these/).isDisabled()).toBe(true);
    expect(await flawsOf(page)).toEqual([]);
    await tabTo(page, page.getByLabel("Call all of them again"));
    await page.keyboard.press("Space");
    await press(page, button(/^Send these/));
    await said(/^Sent: 97 calls/);
    expect((await queued()).map(({ requests }) => requests.length)).toEqual([97]);
  });

  it("a part whose answer was lost a day ago is sent only after a decision, on a dark phone too", async () => {
    await open("send", { width: 390, colorScheme: "dark" });
    const { csv, numbers } = makeLeadFile(5);
    const [first = "", second = ""] = numbers;
    const divided = await divideLeads(
      readWhole(
        [first, second].map((phone_number, line) => ({
          line,
          original: "",
          call: { phone_number, agent_id: "agent_sales" },
        })),
      ),
    );
    const { file, parts } = divided;
    const ask = async (path: string, body: object) =>
      server.api.app.request(`/v1/sent-files${path}`, jsonRequest(tokens.crm, "POST", body));
    const campaign = "spring";
    const [part] = parts.map(({ digest, leads: { length: calls } }) => ({ digest, calls }));
    await ask("", { file, campaign, parts: [part] });
    const content = await sha256("a body whose answer was lost");
    await ask("/parts", { file, round: 1, index: 0, state: "begun", content, attempt: "x" });
    later = 26 * 3_600_000;
    await read("leads.csv", csv, numbers.length);
    await fillCampaign("summer");
    await page.getByText("To send the other parts, name the campaign spring.").waitFor();
    expect(await button(/^Send these/).isDisabled()).toBe(true);
    await fillCampaign();
    await page.getByText("0 of 1 parts of these leads were sent since").waitFor();
    await page.getByText(/^Part 1 was begun at .*, and its answer was lost/).waitFor();
    expect([await flawsOf(page), await button(/^Send these/).isDisabled()]).toEqual([[], true]);
    await tabTo(page, page.getByLabel("It was accepted: continue after it"));
    await page.keyboard.press("ArrowDown");
    await press(page, button(/^Send these/));
    await said(/^Sent: 2 calls/);
    expect((await queued()).map(({ requests }) => requests.length)).toEqual([2]);
  });
});

describe("a list of 300", () => {
  it("is sent in five steps, without a secret, and so that the client's own sending is the same list", async () => {
    // The numbers are of the plan's country, whatever language the browser has.
    await open("send", { locale: "de-DE" });
    const { csv, numbers } = makeLeadFile(300);
    let steps = 0;
    const step = async (work: Promise<unknown>) => {
      steps += 1;
      await work;
    };
    const file = { name: "leads.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
    await step(page.getByLabel(/^Drop a file of leads here/).setInputFiles(file));
    const country = page.getByLabel("Country of numbers without a code");
    await expect.poll(() => country.inputValue()).toBe("Vereinigte Staaten");
    // Where no agent is named yet, no row is blamed for it.
    await page.getByText("The file names no agent: name one above.").waitFor();
    const refused = page.getByRole("region", { name: /^Rows that are not sent/ });
    expect(await refused.count()).toBe(0);
    await step(page.getByLabel("Agent of rows that name none").fill("agent_sales"));
    await page.getByRole("heading", { name: `${numbers.length} leads` }).waitFor();
    expect(await refused.getByRole("row").count()).toBe(1 + 300 - numbers.length);
    expect(await page.locator("input[type=password]").count()).toBe(0);
    await step(page.getByLabel("Name of the campaign").fill("spring"));
    await step(button("Check these leads").click());
    await step(button(`Send these ${numbers.length}`).click());
    await said(new RegExp(`^Sent: ${numbers.length} calls as campaign spring`));
    expect(steps).toBe(5);
    const numbersSent = numbers.toSorted().join("\n");
    const asked = { file: await sha256(numbersSent) };
    const own = jsonRequest(tokens.crm, "POST", asked);
    const found = await server.api.app.request("/v1/sent-files/find", own);
    expect(await found.json()).toMatchObject({ client: "crm", sent: { is_finished: true } });
  });
});

describe("a list whose column of numbers is not sure", () => {
  it("is not sent until a person has chosen one, by the keyboard alone", async () => {
    await open("send");
    const rows = ["202 555 0101,303 555 0101,Jane", "202 555 0102,303 555 0102,Joe"];
    const text = ["Home Phone,Mobile,Agent", ...rows, "202 555 0103,303 555"].join("\n");
    await choose("two.csv", text);
    const doubt = page.getByRole("alert").getByText("More than one column may have");
    await doubt.getByText("Choose the one to call: Home Phone or Mobile.").waitFor();
    await page.getByText("Agent is context: the dial plan takes any agent").waitFor();
    await page.getByText("Choose one column for the phone number.").waitFor();
    expect(await page.getByLabel("Meaning of Mobile").inputValue()).toBe("context");
    await type(page, page.getByLabel("Agent of rows that name none"), "agent_sales");
    expect([await flawsOf(page), await button(/^Check these/).count()]).toEqual([[], 0]);
    await tabTo(page, page.getByLabel("Meaning of Mobile"));
    await page.keyboard.press("Home");
    await page.getByRole("heading", { name: "2 leads" }).waitFor();
    await page.getByText("has no line end: the file may be cut off").waitFor();
    expect(await doubt.count()).toBe(0);
    await fillCampaign();
    await press(page, button("Send these 2"));
    await said(/^Sent: 2 calls as campaign spring/);
    const [request] = await queued();
    const numbers = request?.requests.map(({ phone_number }) => phone_number);
    expect(numbers).toEqual(["+13035550101", "+13035550102"]);
  });
});

describe("an empty page", () => {
  it("shows a request that works when pasted, and sends a simulated campaign in one click", async () => {
    await open("overview", { width: 390 });
    const line = await page.getByRole("region", { name: "A request to paste" }).textContent();
    expect(await flawsOf(page)).toEqual([]);
    await press(page, button("Send 100 simulated calls"));
    await said(/^100 simulated calls are accepted as campaign simulated/);
    const [request] = await queued();
    const numbers = request?.requests.map(({ phone_number }) => phone_number) ?? [];
    expect([numbers.length, new Set(numbers).size]).toEqual([100, 100]);
    expect(numbers.filter((number) => !/^\+120255501\d\d$/.test(number))).toEqual([]);
    const environment = { ...process.env, TOKEN: tokens.crm };
    const answered = await new Promise<string>((done) => {
      execFile("sh", ["-c", line ?? ""], { env: environment }, (_error, out) => done(out));
    });
    expect(answered).toMatch(/^HTTP\/1.1 201 Created/);
  });
});
