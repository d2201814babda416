import { describe, expect, it } from "vitest";
import { writeBudgets } from "#functions/api/actions/write-budgets.ts";
import { createApp } from "#functions/api/app.ts";
import { hourMs } from "#shared/lib/units.ts";
import { countWrites, type Writer } from "#shared/policy/write-counts.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const start = Date.parse("2026-06-01T10:59:00Z");
const receiver = { url: "https://example.com/events", types: ["call.ended"] };
const digest = "2c".repeat(32);
const file = { file: digest, campaign: "spring", parts: [{ digest, calls: 1 }] };
const step = { file: digest, round: 1, index: 0 };
const agents = ["agent_sales"];

type Budget = keyof typeof writeBudgets;
type Ask = [method: string, path: string, token: string, body?: unknown];

function createBench() {
  const clock = { now: start };
  const api = createTestApi({ now: () => clock.now });
  const ask = async ([method, path, token, body]: Ask) => {
    const response = await api.app.request(path, jsonRequest(token, method, body));
    return { status: response.status, text: await response.text() };
  };
  return {
    ...api,
    clock,
    ask,
    /** Has a writer written as much as it may, but for some. */
    async writeAll(writer: Writer, what: Budget, left = 0) {
      const counters = { [what]: writeBudgets[what].max - left };
      await countWrites({ writer, at: clock.now, withinMs: hourMs, counters }, api);
    },
  };
}

const crm = { client: "crm" };
const configurer = { operator: "opsConfigure" };

describe("writes of a client or an operator's token", () => {
  const of: [Budget, Writer, Ask][] = [
    ["receivers", crm, ["PUT", "/v1/receivers/main", tokens.crmEvents, receiver]],
    ["receivers", crm, ["POST", "/v1/receivers/main/rotate-secret", tokens.crmEvents, {}]],
    ["tests", crm, ["POST", "/v1/receivers/main/test", tokens.crmEvents, {}]],
    ["sentFiles", crm, ["POST", "/v1/sent-files", tokens.crm, file]],
    ["sentParts", crm, ["POST", "/v1/sent-files/parts", tokens.crm, { ...step, state: "planned" }]],
    ["tokens", configurer, ["PUT", "/operator/clients/store", tokens.opsConfigure, { agents }]],
    [
      "tokens",
      configurer,
      ["POST", "/operator/clients/store/tokens", tokens.opsConfigure, { rights: ["read"] }],
    ],
  ];
  it.each(of)(
    "of %s by %o are refused above the hour's maximum: %o",
    inSlowTier,
    async (what, writer, ask) => {
      const bench = createBench();
      await bench.ask(["PUT", "/v1/receivers/main", tokens.crmEvents, receiver]);
      await bench.ask(["POST", "/v1/sent-files", tokens.crm, file]);
      await bench.ask(["PUT", "/operator/clients/store", tokens.operator, { agents }]);
      await bench.ask(["PUT", "/operator/clients/store", tokens.opsConfigure, { agents }]);
      expect((await bench.ask(ask)).status).toBeLessThan(500);
      await bench.writeAll(writer, what);
      const isNarrower = what === "tokens" && ask[0] === "PUT";
      const asked: Ask = isNarrower
        ? ["PUT", "/operator/clients/other", tokens.opsConfigure, { agents }]
        : ask;
      const { status, text } = await bench.ask(asked);
      expect(status).toBe(422);
      expect(text).toContain(
        `${writeBudgets[what].text} an hour; the next hour begins at 2026-06-01T11:00:00.000Z`,
      );
      expect(bench.events).toContainEqual(
        expect.objectContaining({ event: "guard.refused", reason: what, level: "warning" }),
      );
      bench.clock.now += 60_000;
      expect((await bench.ask(asked)).status).toBeLessThan(422);
    },
  );

  it("count for one client alone", async () => {
    const bench = createBench();
    await bench.writeAll(crm, "receivers");
    const put: Ask = ["PUT", "/v1/receivers/main", tokens.shopEvents, receiver];
    expect((await bench.ask(put)).status).toBe(200);
  });

  it("that take something away are taken whatever was written before", async () => {
    const bench = createBench();
    await bench.ask(["PUT", "/v1/receivers/main", tokens.crmEvents, receiver]);
    const both = { agents: ["agent_sales", "agent_support"] };
    await bench.ask(["PUT", "/operator/clients/store", tokens.opsConfigure, both]);
    await bench.writeAll(crm, "receivers");
    await bench.writeAll(configurer, "tokens");
    const asked: Ask[] = [
      ["DELETE", "/v1/receivers/main", tokens.crmEvents],
      ["PUT", "/operator/clients/store", tokens.opsConfigure, { agents }],
      ["DELETE", "/operator/clients/store", tokens.opsConfigure],
    ];
    for (const one of asked) expect((await bench.ask(one)).status).toBe(200);
  });

  it("are answered 503 while the ledger cannot count them, and nothing is written", async () => {
    const bench = createBench();
    const documents = { ...bench.documents, add: () => Promise.reject(new Error("down")) };
    const app = createApp({ ...bench.deps, documents });
    const put = jsonRequest(tokens.crmEvents, "PUT", receiver);
    expect((await app.request("/v1/receivers/main", put)).status).toBe(503);
    const key = { kind: "receivers", key: "crm" } as const;
    expect((await bench.documents.read([key])).get(key.kind, key.key)).toBeUndefined();
  });
});
