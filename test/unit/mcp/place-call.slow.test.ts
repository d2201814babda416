import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Failure, Misuse, Refusal } from "#infra/cli/calls/failures.ts";
import { confirmMsMax } from "#infra/mcp/confirmations.ts";
import { createTools } from "#infra/mcp/tools.ts";
import { hourMs } from "#shared/lib/units.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
const environment = {
  OUTBOUND_CALLS_URL: "https://calls.example.com/",
  OUTBOUND_CALLS_TOKEN: tokens.crm,
  OUTBOUND_CALLS_OPERATOR_TOKEN: tokens.opsSee,
};

/** Fate of a request that places a call. A number is the status of an error. */
type Fate = "answered" | "answer_lost" | "request_lost" | number;

/** Creates the tool over a service in memory, whose network does as it is told. */
function createBench(token: { rights?: string[]; mode?: "test" } = {}) {
  let now = Date.now();
  const sha256 = createHash("sha256").update(tokens.crm).digest("hex");
  const API_TOKENS = JSON.stringify([{ id: "crm", sha256, ...token }]);
  const api = createTestApi({
    environment: { ...apiEnvironment, API_TOKENS },
    now: () => now,
  });
  const fates: Fate[] = [];
  const keys: (string | null)[] = [];
  const accepted: string[] = [];
  async function fetch(url: string, init: RequestInit): Promise<Response> {
    const path = url.replace("https://calls.example.com", "");
    if (path !== "/v1/calls") return api.app.request(path, init);
    keys.push(new Headers(init.headers).get("idempotency-key"));
    const fate = fates.shift() ?? "answered";
    if (typeof fate === "number") return new Response("", { status: fate });
    if (fate === "request_lost") throw new TypeError("fetch failed");
    const response = await api.app.request(path, init);
    if (fate === "answer_lost") throw new TypeError("fetch failed");
    return response;
  }
  const start = () =>
    createTools({
      environment,
      isWriting: true,
      fetch,
      sleep: async () => undefined,
      now: () => now,
    }).find(({ name }) => name === "place_call");
  let tool = start();
  return {
    api,
    fates,
    keys,
    advance: (ms: number) => (now += ms),
    restart: () => (tool = start()),
    async place(input: object): Promise<Record<string, unknown>> {
      const answer = await tool?.run({ ...input });
      return Object(answer?.structuredContent);
    },
    /** Lists the requests that were accepted so far, each once. */
    async accepted() {
      for (const { open } of api.queue.take()) {
        const message = messageSchema.parse(JSON.parse(await open()));
        if (message.kind === "calls") accepted.push(message.requestId);
      }
      return [...new Set(accepted)];
    },
  };
}

describe("place_call", () => {
  it("repeats a lost answer under the same key, and calls once", async () => {
    const { place, fates, keys, accepted } = createBench();
    const { confirmation } = await place(call);
    fates.push("answer_lost", 502, "answered");
    const { placed, request_id } = await place({ ...call, confirmation });
    expect(placed).toBe(true);
    expect(keys).toEqual([confirmation, confirmation, confirmation]);
    expect(await accepted()).toEqual([request_id]);
  });

  it("says that nobody knows after three tries, and offers the same confirmation again", async () => {
    const { place, fates, accepted, advance } = createBench();
    const { confirmation } = await place(call);
    fates.push("answer_lost", "request_lost", "request_lost");
    const lost = place({ ...call, confirmation });
    await expect(lost).rejects.toThrow(Failure);
    await expect(lost).rejects.toThrow("The call may have been accepted or not.");
    advance(5 * hourMs);
    const again = await place(call);
    expect(again).toMatchObject({
      confirmation,
      say: expect.stringContaining("without a certain answer"),
    });
    expect(await place({ ...call, confirmation })).toMatchObject({ placed: true });
    expect(await accepted()).toHaveLength(1);
  });

  it("reports a refusal with its details, after which nothing is placed", async () => {
    const { place, fates, accepted } = createBench();
    const { confirmation } = await place(call);
    fates.push(422);
    await expect(place({ ...call, confirmation })).rejects.toThrow(Refusal);
    expect(await accepted()).toEqual([]);
    expect(await place({ ...call, confirmation })).toMatchObject({ placed: true });
  });

  it("places nothing by a confirmation that has ended", async () => {
    const { place, accepted, advance } = createBench();
    const { confirmation } = await place(call);
    advance(confirmMsMax);
    await expect(place({ ...call, confirmation })).rejects.toThrow("has ended");
    expect(await accepted()).toEqual([]);
  });

  it("says of a confirmation that has ended whether its call was placed, to a token that may read", async () => {
    const { place, accepted, advance, fates } = createBench({ rights: ["call", "read"] });
    const other = { ...call, phone_number: "+12025550124" };
    const [first, second] = [await place(call), await place(other)];
    fates.push("answer_lost", "request_lost", "request_lost");
    const confirmed = { ...call, confirmation: first["confirmation"] };
    await place(confirmed).catch(() => undefined);
    const [requestId] = await accepted();
    advance(23 * hourMs);
    const found = await place(confirmed);
    expect(found).toMatchObject({ placed: false, request_id: requestId });
    expect(found["say"]).toContain("Nothing was placed now");
    await expect(place({ ...other, confirmation: second["confirmation"] })).rejects.toThrow(
      "No call was sent by it.",
    );
    expect(await accepted()).toHaveLength(1);
  });

  it("does not say that no call was sent by a confirmation that the service may have forgotten", async () => {
    const { place, advance, restart } = createBench({ rights: ["call", "read"] });
    const confirmed = { ...call, confirmation: (await place(call))["confirmation"] };
    expect(await place(confirmed)).toMatchObject({ placed: true });
    restart();
    advance(25 * hourMs);
    const late = place(confirmed);
    await expect(late).rejects.toThrow("Look for the call first.");
    await expect(late).rejects.not.toThrow("No call was sent");
  });

  it("places nothing by a confirmation that somebody made up, or changed", async () => {
    const { place, accepted } = createBench();
    const { confirmation = "" } = await place(call);
    const [, time = ""] = String(confirmation).split("-");
    for (const code of ["", "yes", `call-${time}-${"a".repeat(32)}`, `${String(confirmation)}0`]) {
      await expect(place({ ...call, confirmation: code })).rejects.toThrow("Nothing was placed");
    }
    expect(await accepted()).toEqual([]);
  });

  it("takes the first of two confirmations that a restart has parted", async () => {
    const { place, accepted, advance, restart } = createBench();
    const { confirmation: first } = await place(call);
    restart();
    advance(1);
    const { confirmation: second } = await place(call);
    expect(await place({ ...call, confirmation: first })).toMatchObject({ placed: true });
    await expect(place({ ...call, confirmation: second })).rejects.toThrow("another one");
    expect(await accepted()).toHaveLength(1);
  });

  it("forecasts and places tests with a test token, to test numbers alone", async () => {
    const { place, api } = createBench({ mode: "test" });
    const real = await place({ ...call, phone_number: "+12025550200" });
    expect(real).toMatchObject({ placed: false, forecast: { outcome: "refused" } });
    const { confirmation, say } = await place(call);
    expect(say).toContain("It is a test: nobody is phoned.");
    expect(await place({ ...call, confirmation })).toMatchObject({ placed: true });
    const [message] = api.queue.take();
    expect(JSON.parse((await message?.open()) ?? "")).toMatchObject({ client: "test:crm" });
  });

  it("needs both tokens", () => {
    for (const name of ["OUTBOUND_CALLS_TOKEN", "OUTBOUND_CALLS_OPERATOR_TOKEN"] as const) {
      const deps = { isWriting: true, fetch, sleep: async () => undefined, now: Date.now };
      const create = () => createTools({ environment: { ...environment, [name]: "" }, ...deps });
      expect(create).toThrow(Misuse);
    }
  });

  it("places the same call once more only by a confirmation that said so, whatever is lost", async () => {
    // The last fate befalls all other tries too.
    const fates = fc.constantFrom<Fate[]>(
      ["answered"],
      ["answer_lost"],
      ["answer_lost", "request_lost"],
      ["request_lost", 503, "answer_lost"],
      ["answer_lost", 422],
      [422],
    );
    const step = fc.oneof(
      fc.record({ do: fc.constant("ask" as const) }),
      fc.record({
        do: fc.constant("confirm" as const),
        back: fc.nat(3),
        fates,
      }),
      fc.record({
        do: fc.constant("wait" as const),
        ms: fc.constantFrom(1, 60_000, confirmMsMax, 23 * hourMs),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
        const bench = createBench();
        const codes: unknown[] = [];
        let more = 0;
        for (const one of steps) {
          if (one.do === "wait") bench.advance(one.ms);
          if (one.do === "ask") {
            const { confirmation, placed_before } = await bench.place(call);
            if (!codes.includes(confirmation) && placed_before === true) more += 1;
            codes.push(confirmation);
          }
          if (one.do === "confirm") {
            const [last = "answered"] = one.fates.slice(-1);
            bench.fates.splice(0, Infinity, ...one.fates, last, last);
            const confirmation = codes.at(-1 - one.back) ?? "none";
            await bench.place({ ...call, confirmation }).catch(() => undefined);
          }
          expect((await bench.accepted()).length).toBeLessThanOrEqual(1 + more);
        }
      }),
      { numRuns: 25 },
    );
  });
});
