import { readRows } from "#test/support/reads.ts";
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import document from "#functions/api/generated/served/openapi.json" with { type: "json" };
import { toCallId } from "#shared/calls/ids.ts";
import { callbackAddress } from "#shared/settings/callback-url.ts";
import { createTestApi } from "../support/api.ts";
import { putHeartbeats } from "../support/heartbeats.ts";
import { axeFindings } from "../support/axe.ts";
import { openContext, startBrowser } from "../support/browser.ts";
import { aCall, aRequestId } from "../support/calls.ts";
import { apiEnvironment, tokens, webhookSecret } from "../support/environment.ts";
import { type Received, startReceiver } from "../support/receiver.ts";
import { rowIn, writeRows } from "../support/rows.ts";

/** Folder of the screenshots, which are meant for people. */
const pictures = resolve(import.meta.dirname, "../../dist/screenshots");

describe("the page for readers", () => {
  const api = createTestApi();
  /** A path in front of the API, such as a stage of API Gateway. */
  const base = "/prod";
  let server: Awaited<ReturnType<typeof startReceiver>>;
  let browser: Browser | undefined;
  let page: Page;
  /** Complaints of the browser, and what it asked for. */
  const complaints: string[] = [];
  const asked: string[] = [];

  async function answer(received: Received, response: ServerResponse): Promise<void> {
    const { method, path, headers, text } = received;
    const given = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    const init = { method, headers: Object.fromEntries(given) };
    const answered = await api.app.request(
      path.replace(base, ""),
      text === "" ? init : { ...init, body: text },
    );
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    response.end(await answered.text());
  }

  beforeAll(async () => {
    await mkdir(pictures, { recursive: true });
    server = await startReceiver((received, response) => {
      void answer(received, response);
    });
    browser = await startBrowser();
    page = await (await openContext(browser)).newPage();
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${server.url}${base}/docs`);
  });
  afterAll(async () => {
    await browser?.close();
    await server.close();
  });

  it("has a command for each operation that works where the reader is", async () => {
    const requestId = aRequestId(Date.now());
    const call = { ...aCall({ requestId, acceptedAt: Date.now() }), id: toCallId(requestId, 0) };
    await writeRows([rowIn("WAITING", call)], api.ledger, api.documents);
    await putHeartbeats(api.documents, Date.now());
    const statuses: Record<string, string> = {};
    for (const [id, TOKEN] of [
      ["createCall", tokens.crm],
      ["createCalls", tokens.crm],
      ["showRequest", tokens.crmDesk],
      ["listRequests", tokens.crmDesk],
      ["listRequestCalls", tokens.crmDesk],
      ["showCall", tokens.crmDesk],
      ["showUsage", tokens.crmDesk],
      ["showToken", tokens.crmDesk],
      ["cancelCall", tokens.crmDesk],
      ["cancelRequest", tokens.crmDesk],
      ["addOptOuts", tokens.crmOptOut],
      ["startSentFile", tokens.crm],
      ["findSentFile", tokens.crm],
      ["markSentPart", tokens.crm],
      ["putReceiver", tokens.crmEvents],
      ["listReceivers", tokens.crmEvents],
      ["rotateReceiverSecret", tokens.crmEvents],
      ["testReceiver", tokens.crmEvents],
      ["listReceiverDeliveries", tokens.crmEvents],
      ["replayReceiver", tokens.crmEvents],
      ["deleteReceiver", tokens.crmEvents],
      ["showHealth", ""],
      ["showReadiness", ""],
    ] as const) {
      const command = await page.locator(`#operation-${id} pre`).innerText();
      const probes: Record<string, string> = { showHealth: "healthz", showReadiness: "readyz" };
      expect(command).toContain(`${server.url}${base}/${probes[id] ?? "v1/"}`);
      const env = { ...process.env, TOKEN, REQUEST_ID: requestId, CALL_ID: call.id };
      const { stdout } = await promisify(execFile)("sh", ["-c", command], { env });
      statuses[id] = stdout.split(" ")[1] ?? "";
    }
    const account = { account: "webhook", hashKey: apiEnvironment.HASH_KEY };
    const told = { ...account, call: { id: call.id, claim: "0123456789abcdef0123" } };
    const command = await page.locator("#operation-tellResult pre").innerText();
    const env = {
      ...process.env,
      CALL_ID: call.id,
      CALLBACK_URL: callbackAddress(server.url + base, told),
      WEBHOOK_SECRET: webhookSecret,
    };
    const { stdout } = await promisify(execFile)("sh", ["-c", command], { env });
    statuses["tellResult"] = stdout.split(" ")[1] ?? "";
    const operations = await page.locator('section[id^="operation-"]').count();
    expect(operations).toBe(Object.keys(statuses).length);
    expect(statuses).toEqual({
      createCall: "201",
      createCalls: "201",
      showRequest: "200",
      listRequests: "200",
      listRequestCalls: "200",
      showCall: "200",
      showUsage: "200",
      showToken: "200",
      cancelCall: "200",
      cancelRequest: "200",
      addOptOuts: "200",
      startSentFile: "200",
      findSentFile: "200",
      markSentPart: "200",
      putReceiver: "200",
      listReceivers: "200",
      rotateReceiverSecret: "200",
      testReceiver: "202",
      listReceiverDeliveries: "200",
      replayReceiver: "202",
      deleteReceiver: "200",
      tellResult: "204",
      showHealth: "200",
      showReadiness: "200",
    });
    expect(api.queue.take()).toHaveLength(2);
    const rows = await readRows(api.ledger, [call.id]);
    expect(rows.get(call.id)?.state).toBe("CANCELLED");
  });

  it("has an address for each operation, event, error and schema, to which its links lead", async () => {
    const { paths, webhooks, components } = document;
    const operations = Object.values(paths).flatMap((one) => Object.values(one));
    const anchors = [
      ...operations.map(({ operationId }) => `operation-${operationId}`),
      ...Object.keys(webhooks).map((name) => `event-${name}`),
      ...Object.entries(components.responses).flatMap(([name, response]) =>
        "content" in response ? `error-${name}` : [],
      ),
      ...Object.keys(components.schemas).map((name) => `schema-${name}`),
    ];
    const ids = await page.locator("section").evaluateAll((all) => all.map(({ id }) => id));
    expect(new Set(ids)).toEqual(new Set(anchors));
    expect(ids).toHaveLength(anchors.length);
    const links = await page
      .locator('a[href^="#"]')
      .evaluateAll((all) => all.map((one) => one.getAttribute("href")?.slice(1)));
    expect(new Set(links)).toEqual(new Set(anchors));
    await page.goto(`${server.url}${base}/docs#error-Forbidden`);
    const top = await page
      .locator("#error-Forbidden")
      .evaluate((one) => one.getBoundingClientRect().top);
    expect(top).toBeGreaterThanOrEqual(0);
    expect(top).toBeLessThan(100);
  });

  it("shows an example of each error, and each field of what is sent and answered", async () => {
    for (const [name, response] of Object.entries(document.components.responses)) {
      if (!("content" in response)) continue; // a receiver's answer to an event
      const { example } = response.content["application/problem+json"];
      const [head = "", body = ""] = (await page.locator(`#error-${name} pre`).innerText()).split(
        "\n\n",
      );
      expect(head).toMatch(
        new RegExp(`^HTTP/1.1 ${example.status}\nContent-Type: application/problem\\+json`),
      );
      expect(JSON.parse(body)).toEqual(example);
    }
    const fields = (id: string) => page.locator(`#${id} th`).allInnerTexts();
    expect(await fields("schema-Call")).toEqual(
      Object.keys(document.components.schemas.Call.properties),
    );
    expect(await fields("schema-Problem")).toContain("errors[].pointer");
    const errors = await page.locator('section[id^="error-"] h3').allInnerTexts();
    expect(errors).toEqual(errors.toSorted());
    expect(await fields("operation-showRequest")).toEqual(
      expect.arrayContaining(["limit", "counts.by_state", "calls", "finished", "404"]),
    );
  });

  it("is readable in light and dark, on a desk and a phone, and begins at the left", async () => {
    for (const [name, scheme, width] of [
      ["docs-desk-light", "light", 1400],
      ["docs-desk-dark", "dark", 1400],
      ["docs-phone-light", "light", 390],
      ["docs-phone-dark", "dark", 390],
    ] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({ path: join(pictures, `${name}.png`) });
      expect([name, await axeFindings(page)]).toEqual([name, []]);
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      const left = await page.locator("nav").evaluate((one) => one.getBoundingClientRect().left);
      expect([name, overflow, left < 40]).toEqual([name, 0, true]);
    }
  });

  it("asks for nothing but itself, and has nothing to complain of", () => {
    expect([...new Set(asked.map((url) => url.split("#")[0]))]).toEqual([
      `${server.url}${base}/docs`,
    ]);
    expect(complaints).toEqual([]);
  });
});
