import { expect, it } from "vitest";
import { testClientOf } from "#shared/calls/ids.ts";
import { usageKeyOf } from "#shared/policy/usage.ts";
import type { UsageOf } from "#shared/policy/usage-ends.ts";
import { run } from "#infra/cli/calls.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";

const now = Date.UTC(2026, 10, 21, 12, 34);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Creates an API at `now`, over documents that a test fills with usage. */
function createBench() {
  const { app, documents } = createTestApi({ now: () => now });
  const add = (at: number, of: Partial<UsageOf>, counters: Record<string, number>) =>
    documents.add(
      usageKeyOf(at, { client: "crm", agentId: "agent_sales", ...of }),
      counters,
      now + 90 * dayMs,
    );
  const ask = async (path: string, token = tokens.crmDesk, accept = "*/*") => {
    const response = await app.request(path, {
      headers: { authorization: `Bearer ${token}`, accept },
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text };
  };
  const bodyOf = async (path: string, token?: string): Promise<object> => {
    const { text, status } = await ask(path, token);
    expect([text, status]).toEqual([text, 200]);
    return Object(JSON.parse(text));
  };
  return { app, add, ask, bodyOf };
}

const counted = { accepted: 4, PLACED: 3, completed: 2, seconds: 130, "cost USD": 1_250_000 };
const sums = (times: number, more: object = {}) => ({
  accepted: 4 * times,
  placed: 3 * times,
  answered: 2 * times,
  seconds: 130 * times,
  cost: [{ amount: String(1.25 * times), currency: "USD" }],
  ...more,
});

/** Adds usage of two days, agents, campaigns and clients, and of the tests of one. */
async function fill({ add }: ReturnType<typeof createBench>) {
  await add(now, {}, counted);
  await add(now - hourMs, { labels: { campaign: "spring" } }, counted);
  await add(now - dayMs, { agentId: "agent_support", labels: { campaign: "spring" } }, counted);
  await add(now - dayMs, { client: "shop" }, counted);
  await add(now, { client: "cr" }, { accepted: 9 });
  await add(now, { client: "crm2" }, { accepted: 9 });
  await add(now, { client: testClientOf("crm") }, { accepted: 7 });
  await add(now - 40 * dayMs, {}, counted);
}

it("shows a client its own usage by day, agent and campaign", async () => {
  const bench = createBench();
  await fill(bench);
  const { bodyOf } = bench;
  const range = {
    from: "2026-11-15",
    to: "2026-11-21",
    read_from: "2026-11-15T00:00:00.000Z",
    rows_left_out: 0,
  };
  expect(await bodyOf("/v1/usage")).toEqual({
    ...range,
    rows: [
      { day: "2026-11-20", ...sums(1) },
      { day: "2026-11-21", ...sums(2) },
    ],
    total: sums(3),
  });
  expect(await bodyOf("/v1/usage?group_by=agent")).toMatchObject({
    rows: [
      { agent_id: "agent_sales", ...sums(2) },
      { agent_id: "agent_support", ...sums(1) },
    ],
  });
  expect(await bodyOf("/v1/usage?group_by=campaign&from=2026-11-21&to=2026-11-21")).toEqual({
    ...range,
    from: "2026-11-21",
    read_from: "2026-11-21T00:00:00.000Z",
    rows: [
      { campaign: "spring", ...sums(1) },
      { campaign: null, ...sums(1) },
    ],
    total: sums(2),
  });
  expect(await bodyOf("/v1/usage?from=2026-10-01&to=2026-10-31")).toMatchObject({
    rows: [{ day: "2026-10-12", ...sums(1) }],
  });
  expect(await bodyOf("/v1/usage", tokens.shopDesk)).toMatchObject({ total: sums(1) });
});

it("refuses other ranges and parameters, and needs the right to read", async () => {
  const { ask } = createBench();
  for (const [query, parameter] of [
    ["from=2026-11-22", "from"],
    ["from=2026-10-21", "from"],
    ["from=2026-11-20&to=2026-11-19", "from"],
    ["from=2026-11-20T10:00:00Z", "from"],
    ["to=0000-01-01", "from"],
    ["to=tomorrow", "to"],
    ["group_by=client", "group_by"],
    ["client=shop", "client"],
  ] as const) {
    const { status, text } = await ask(`/v1/usage?${query}`);
    const errors: { parameter: string }[] = JSON.parse(text).errors;
    expect([query, status, errors.map((one) => one.parameter)]).toEqual([query, 422, [parameter]]);
  }
  expect((await ask("/v1/usage?from=2026-10-22")).status).toBe(200);
  expect((await ask("/v1/usage", tokens.crm)).status).toBe(403);
});

it("shows operators the usage of all clients, tests apart", async () => {
  const bench = createBench();
  await fill(bench);
  const bodyOf = (query: string) => bench.bodyOf(`/operator/usage?${query}`, tokens.opsSee);
  const none = { placed: 0, answered: 0, seconds: 0, cost: [] };
  expect(await bodyOf("")).toMatchObject({
    rows: [
      { client: "crm", test: false, ...sums(3) },
      { client: "cr", test: false, accepted: 9, ...none },
      { client: "crm2", test: false, accepted: 9, ...none },
      { client: "crm", test: true, accepted: 7, ...none },
      { client: "shop", test: false, ...sums(1) },
    ],
    total: sums(4, { accepted: 34 }),
  });
  expect(await bodyOf("group_by=day&to=2026-11-21&from=2026-11-21")).toMatchObject({
    rows: [
      { day: "2026-11-21", test: false, ...sums(2, { accepted: 26 }) },
      { day: "2026-11-21", test: true, accepted: 7, ...none },
    ],
  });
  expect(await bodyOf("group_by=campaign&client=crm")).toMatchObject({
    rows: [
      { client: "crm", campaign: "spring", test: false, ...sums(2) },
      { client: "crm", campaign: null, test: false, ...sums(1) },
    ],
    total: sums(3),
  });
  expect(await bodyOf(`client=${testClientOf("crm")}`)).toMatchObject({
    rows: [{ client: "crm", test: true, accepted: 7 }],
    total: { accepted: 7 },
  });
});

it("gives operators a table that no spreadsheet takes for formulas", async () => {
  const { add, ask } = createBench();
  await add(now, { labels: { campaign: '=HYPERLINK("x")' } }, counted);
  await add(now, { labels: { campaign: "a, b" } }, { accepted: 1, "cost =EUR": 500_000 });
  const path = "/operator/usage?group_by=campaign";
  const { text, headers } = await ask(`${path}&format=csv`, tokens.opsSee);
  expect(text.split("\r\n")).toEqual([
    "client,campaign,test,accepted,placed,answered,seconds,cost_=EUR,cost_USD",
    `crm,"'=HYPERLINK(""x"")",false,4,3,2,130,,1.25`,
    'crm,"a, b",false,1,0,0,0,0.5,',
    "",
  ]);
  expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(headers.get("content-disposition")).toMatch(
    /usage-2026-11-15-2026-11-21-by-campaign\.csv/,
  );
  expect((await ask(path, tokens.opsSee, "text/csv")).text).toBe(text);
  expect((await ask(`${path}&format=json`, tokens.opsSee, "text/csv")).text).toMatch(/^\{/);
});

it("leaves out the hours that are too much to read, and says from when it has read", async () => {
  const { add, bodyOf } = createBench();
  for (let hour = 0; hour < 24; hour++)
    for (let n = 0; n < 900; n++)
      await add(now - hour * hourMs, { labels: { campaign: `campaign ${n}` } }, { accepted: 1 });
  const body = await bodyOf("/v1/usage?group_by=day");
  // 20,000 documents are 22 whole hours and a part of one.
  const from = new Date(Math.floor(now / hourMs) * hourMs - 21 * hourMs).toISOString();
  expect(body).toMatchObject({ read_from: from, total: { accepted: 22 * 900 } });
});

it("is a command", async () => {
  const bench = createBench();
  await fill(bench);
  const out: string[] = [];
  const code = await run(["usage", "--from", "2026-11-01", "--until", "2026-11-21", "--csv"], {
    environment: {
      OUTBOUND_CALLS_URL: "https://calls.example.com",
      OUTBOUND_CALLS_OPERATOR_TOKEN: tokens.opsSee,
    },
    fetch: async (address, init) =>
      bench.app.request(address.replace("https://calls.example.com", ""), init),
    print: (line) => out.push(line),
    complain: (line) => out.push(line),
    isInteractive: false,
    sleep: async () => undefined,
  });
  expect([code, out]).toEqual([
    0,
    [
      "client,test,accepted,placed,answered,seconds,cost_USD",
      "crm,false,12,9,6,390,3.75",
      "cr,false,9,0,0,0,",
      "crm2,false,9,0,0,0,",
      "crm,true,7,0,0,0,",
      "shop,false,4,3,2,130,1.25",
    ],
  ]);
});
