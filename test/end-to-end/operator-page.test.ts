import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { backlogOf, callStates, storedRow } from "../../shared/calls/call-row.ts";
import { countsKeyOf } from "../../shared/documents/counts.ts";
import { randomVersion } from "../../shared/random-id.ts";
import { createToken } from "../../shared/tokens.ts";
import { startBrowser } from "../support/browser.ts";
import { aCall, aRequestId } from "../support/calls.ts";
import { cloudflare } from "../support/platforms.ts";
import { startReceiver } from "../support/receiver.ts";
import { rowIn } from "../support/rows.ts";
import {
  makeStateDirectory,
  type RunningService,
  startService,
  until,
} from "../support/service.ts";

const { token, sha256 } = createToken();
const operator = createToken();
/** For a person to look at. */
const pictures = resolve(import.meta.dirname, "../../dist/screenshots");
const hourMs = 3_600_000;
const awkward = `<img src=x onerror="document.title='broken into'">`;

/** The request of each state's calls. */
const requestIds = Object.fromEntries(callStates.map((state) => [state, aRequestId(Date.now())]));

/** Calls in every state, what counts them and the backlogs of those that wait, as the ledger's tables have them. */
function seeds(): string {
  const now = Date.now();
  const quote = (value: string | number | null) =>
    value === null ? "NULL" : `'${String(value).replaceAll("'", "''")}'`;
  const insert = (table: string, row: Record<string, string | number | null>) =>
    `INSERT INTO ${table} (${Object.keys(row).join()}) VALUES (${Object.values(row).map(quote).join()});`;
  const rows = callStates.flatMap((state, place) =>
    Array.from({ length: 30 + place * 5 }, (_, n) => {
      const acceptedAt = now - n * 600_000 - place * 60_000;
      const request = {
        phone_number: `+1303555${String(place * 100 + n).padStart(4, "0")}`,
        agent_id: n === 0 ? "reviewed_one" : `agent_${n % 3}`,
        context: { name: n === 0 ? awkward : "Ada" },
      };
      const call = aCall({ requestId: requestIds[state] ?? "", acceptedAt, request });
      const reason = state === "WAITING" ? "hours:callingHours.default" : "http_500";
      const row = rowIn(state, call, { at: acceptedAt + 900, reason, dueAt: now + 10 * hourMs });
      return state === "DIALING" ? { ...row, dueAt: now + 10 * hourMs } : row;
    }),
  );
  const backlogs = new Map(
    rows.filter(({ state }) => state === "WAITING").map((row) => [backlogOf(row), row]),
  );
  const counts = new Map<string, Record<string, number>>();
  for (const { state, updatedAt } of rows) {
    const { key } = countsKeyOf(updatedAt);
    const counted = counts.get(key) ?? {};
    if (state !== "DIALING") counts.set(key, { ...counted, [state]: (counted[state] ?? 0) + 1 });
  }
  const document = (kind: string, key: string, value: object) =>
    insert("documents", {
      kind,
      key,
      version: randomVersion(),
      expires_at: null,
      value: JSON.stringify(value),
    });
  return [
    ...rows.map((row) =>
      insert("calls", {
        id: row.id,
        version: row.version,
        number_hash: row.numberHash,
        row: JSON.stringify(storedRow(row)),
      }),
    ),
    ...[...counts].map(([key, value]) => document("counts", key, value)),
    ...[...backlogs].map(([key, { client, agentId }]) =>
      document("backlog", key, {
        client,
        agentId,
        usedAt: now,
        nextDueAt: now + 10 * hourMs,
        visitedAt: now,
        newer: null,
        older: null,
      }),
    ),
  ].join("\n");
}

describe("the operator's page", () => {
  let service: RunningService;
  let browser: Browser | undefined;
  let page: Page;
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  let directory: Awaited<ReturnType<typeof makeStateDirectory>>;
  /** What the browser complained of, and whom it asked. */
  const complaints: string[] = [];
  const asked = new Set<string>();

  beforeAll(async () => {
    await mkdir(pictures, { recursive: true });
    receiver = await startReceiver((_request, response) => response.end('{"id":"CA1"}'));
    directory = await makeStateDirectory();
    service = await startService(
      cloudflare,
      {
        API_TOKENS: JSON.stringify([{ id: "test", sha256 }]),
        OPERATOR_TOKENS: JSON.stringify([{ id: "ops", sha256: operator.sha256 }]),
        DIAL_PLAN: JSON.stringify({
          agents: { "*": { provider: "webhook", url: `${receiver.url}/dial` } },
          callingHours: { default: "always" },
          destinations: { allow: ["*"] },
          reviewAfterSeconds: 86_400,
        }),
      },
      directory.path,
    );
    const file = join(directory.path, "seeds.sql");
    await writeFile(file, seeds());
    const words = ["wrangler", "d1", "execute", "LEDGER", "--local", "--yes", "--persist-to"];
    const fill = () =>
      promisify(execFile)("npx", [...words, directory.path, "--file", file], {
        env: { ...process.env, CI: "1" },
      });
    await fill().catch(fill).catch(fill);
    browser = await startBrowser();
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
    page = await context.newPage();
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning")
        complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
    await page.goto(`${service.address}/operator`);
  });
  afterAll(async () => {
    await browser?.close();
    await service.end("SIGTERM");
    await receiver.close();
    await directory.remove();
  });

  const said = () => page.getByRole("status").textContent();
  const hasSaid = (words: RegExp) => until(async () => words.test((await said()) ?? ""), 15_000);
  const button = (name: string | RegExp) => page.getByRole("button", { name });
  const search = async (fields: Record<string, string>) => {
    for (const label of ["Agent", "Account", "Reason", "Request", "Number"]) {
      await page
        .getByRole("textbox", { name: label, exact: true })
        .last()
        .fill(fields[label] ?? "");
    }
    await button("Search").click();
  };
  async function violations(): Promise<string[]> {
    await page.evaluate(axe.source);
    const { violations: found } = await page.evaluate<axe.AxeResults>(
      'axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"] })',
    );
    return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  }

  it("lets in an operator's token, by the keyboard alone, and no client's", async () => {
    const field = page.getByLabel("Operator's token");
    expect(await violations()).toEqual([]);
    await field.fill(token);
    await page.keyboard.press("Enter");
    await hasSaid(/not an operator's/);
    complaints.splice(0); // the 401s
    await field.fill(operator.token);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Last 24 hours" }).waitFor();
    expect(page.url()).not.toContain(operator.token);
  });

  it("shows what stands and what came in each hour", async () => {
    await button(/^Needs review 45$/).waitFor();
    await button(/^Waiting 30$/).waitFor();
    expect(await page.locator("svg rect").count()).toBeGreaterThan(20);
    await page.getByText("As a table").click();
    expect(await page.getByRole("table").first().getByRole("row").count()).toBeGreaterThan(3);
    await page.getByText("As a table").click();
    await page.getByRole("region", { name: "Calls found" }).getByRole("row").nth(40).waitFor();
    expect(await page.content()).not.toMatch(/303555\d{4}|Ada/);
  });

  it("can be used by who cannot see it well, in light and dark, on a desk and a phone", async () => {
    for (const [name, scheme, width] of [
      ["desk-light", "light", 1200],
      ["desk-dark", "dark", 1200],
      ["phone-light", "light", 390],
      ["phone-dark", "dark", 390],
    ] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
      expect([name, await violations()]).toEqual([name, []]);
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect([name, overflow]).toEqual([name, 0]);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1200, height: 900 });
  });

  it("finds a call that needs review, shows it when asked to, and has it made again", async () => {
    await search({ Agent: "reviewed_one" });
    const found = page.getByRole("region", { name: "Calls found" });
    await until(async () => (await found.getByRole("row").count()) === 2, 10_000);
    await found.getByRole("button").click();
    const call = page.getByRole("region", { name: /^Call call_/ });
    await call.getByText("What happened").waitFor();
    expect(await call.textContent()).not.toContain("303555");
    await call.getByRole("button", { name: "Show number and context" }).click();
    await call.getByText("+13035550300").waitFor();
    expect(await call.textContent()).toContain(awkward);
    expect(await page.title()).toBe("Outbound Calls: operator");
    await page.screenshot({ path: join(pictures, "call.png"), fullPage: true });
    expect(await violations()).toEqual([]);
    await call.getByRole("button", { name: "It was not: call again" }).click();
    await hasSaid(/^The call is made again as call_/);
    await until(() => receiver.received.length === 1, 15_000);
    expect(JSON.parse(receiver.received[0]?.text ?? "")).toMatchObject({
      phone_number: "+13035550300",
      context: { name: awkward },
    });
    await call.getByText("Made again as").waitFor();
    // As often as it is asked, in case the queue lost it: the same call, which is made once.
    const made = await said();
    await call.getByRole("button", { name: "Send the new call again" }).click();
    await page.waitForTimeout(4000);
    expect(await said()).toBe(made);
    expect(receiver.received).toHaveLength(1);
    await button("Close").click();
  });

  it("cancels what waits of a request, once that is confirmed", async () => {
    const request = requestIds["WAITING"] ?? "";
    await button(/^Waiting 30$/).click();
    await search({ Request: request });
    await button(`Cancel all that wait of request ${request}`).click();
    await button("Leave them").click();
    await button(`Cancel all that wait of request ${request}`).click();
    await button("Cancel these calls").click();
    await hasSaid(new RegExp(`^30 waiting calls of request ${request} cancelled`));
    await button(/^Waiting 0$/).waitFor();
    expect(receiver.received).toHaveLength(1);
  });

  it("pauses an account, so that its calls wait, and resumes it", async () => {
    await page.getByRole("combobox").selectOption("account webhook");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await hasSaid(/^Paused: account webhook/);
    await fetch(`${service.address}/v1/calls`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ phone_number: "+13035550999", agent_id: "agent_9" }),
    });
    await button(/^Waiting 1$/).click({ timeout: 20_000 });
    await search({});
    await page.getByRole("cell", { name: "paused" }).waitFor();
    await button("paused 1").click();
    await button("paused 1").waitFor();
    await page.screenshot({ path: join(pictures, "paused.png"), fullPage: true });
    await button("Resume account webhook").click();
    await hasSaid(/^Resumed/);
    await until(() => receiver.received.length === 2, 30_000);
  });

  it("keeps the do-not-call list", async () => {
    await page.getByLabel("Phone number").fill("+13035550998");
    await button("Add").click();
    await hasSaid(/^Added/);
    await button("Check").click();
    await hasSaid(/^The number is on the list/);
    await page.getByLabel("Phone number").fill("555");
    await button("Check").click();
    await hasSaid(/must be an E\.164 number/);
    complaints.splice(0); // the 422
  });

  it("has complained of nothing, and asked no other host for anything", async () => {
    expect(complaints).toEqual([]);
    expect([...asked].filter((origin) => origin !== "null")).toEqual([service.root]);
    await button("Sign out").click();
    await page.reload();
    await page.getByLabel("Operator's token").waitFor();
  });
});
