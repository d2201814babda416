import * as fc from "fast-check";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import {
  createClient,
  isRefused,
  type OutboundCallsClient,
  OutboundCallsError,
} from "#infra/client/index.ts";
import { createKeyMemory } from "#infra/client/key-memory.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { aStory, expectTold, type StoryFault, type Told } from "#test/support/key-stories.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
const realFetch = globalThis.fetch;

let deadPort: number;
beforeAll(async () => {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a pipe
  deadPort = (server.address() as AddressInfo).port;
  await new Promise((closed) => server.close(closed));
});
afterEach(() => vi.unstubAllGlobals());

/** Stands in for the runtime's own `fetch`: the errors of connections are real ones. */
function stubFetch(
  app: ReturnType<typeof createTestApi>["app"],
  coming: StoryFault[],
  seen: StoryFault[],
) {
  vi.stubGlobal("fetch", async (request: Request) => {
    const fault = coming.shift();
    if (fault !== undefined) seen.push(fault);
    if (fault === "dead port") return realFetch(`http://127.0.0.1:${deadPort}/`);
    if (fault === "unknown host") return realFetch("http://nowhere.invalid/");
    if (fault === "cut before") throw Object.assign(new TypeError("fetch failed"), { cause: cut });
    if (fault === "503 before" || fault === "429 before" || fault === "401 before") {
      return new Response(null, { status: Number(fault.slice(0, 3)) });
    }
    const answer = await app.fetch(request);
    if (fault === "cut after") throw new TypeError("fetch failed", { cause: cut });
    return answer;
  });
}
const cut = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", syscall: "read" });

const clientOf = (triesMax = 3) =>
  createClient({
    baseUrl: "http://127.0.0.1:8787",
    token: tokens.crm,
    retry: { triesMax, delayMs: 1, delayMsMax: 2 },
  });

async function failureOf(work: Promise<unknown>): Promise<OutboundCallsError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof OutboundCallsError) return error;
    throw error;
  }
}

describe("whether calls may have been accepted", () => {
  it("is the OR over all tries under a key, and is never taken back", async () => {
    const property = fc.asyncProperty(aStory, async ({ isBatch, requests }) => {
      const { app, queue } = createTestApi();
      const client = clientOf();
      const place = (one: OutboundCallsClient) =>
        isBatch
          ? one.placeCalls([call], { idempotencyKey: "key" })
          : one.placeCall(call, { idempotencyKey: "key" });
      const seen: StoryFault[] = [];
      const told: Told[] = [];
      for (const some of requests) {
        stubFetch(app, [...some], seen);
        const error = await failureOf(place(client));
        if (error !== undefined) expect(error.idempotencyKey).toBe("key");
        told.push({ seen: [...seen], error });
      }
      expectTold(told);
      // Nothing is told as not accepted that was accepted, and nothing is accepted twice.
      const messages = await Promise.all(queue.take().map((one) => one.open()));
      const ids = new Set(messages.map((json): string => JSON.parse(json).requestId));
      expect(ids.size).toBeLessThanOrEqual(1);
      if (ids.size === 0) return;
      stubFetch(app, ["401 before"], []);
      expect(await failureOf(place(client))).toMatchObject({ isMaybeAccepted: true });
    });
    await fc.assert(property, { numRuns: 50 });
  });

  it("is no if every try was refused a connection, which is reported with port and tries", async () => {
    stubFetch(createTestApi().app, ["dead port", "unknown host", "dead port"], []);
    const error = await failureOf(clientOf().placeCall(call));
    expect(error).toMatchObject({ type: "not_sent", isMaybeAccepted: false, status: undefined });
    expect(error?.message).toMatch(
      /^not_sent: Nothing could be sent \(3 tries within \d+ ms\): connect ECONNREFUSED 127\.0\.0\.1:\d+$/,
    );
    expect(error?.cause).toBeInstanceOf(TypeError);
  });

  it("is yes while another request under the key is under way", async () => {
    const { app } = createTestApi();
    const { promise, resolve: settleFirst } = Promise.withResolvers<Response>();
    const hanging = vi.fn(() => promise);
    vi.stubGlobal("fetch", hanging);
    const client = clientOf(1);
    const first = client.placeCall(call, { idempotencyKey: "key" });
    await vi.waitFor(() => expect(hanging).toHaveBeenCalledOnce());
    stubFetch(app, ["401 before", "401 before"], []);
    const during = await failureOf(client.placeCall(call, { idempotencyKey: "key" }));
    expect(during).toMatchObject({ status: 401, isMaybeAccepted: true });
    settleFirst(new Response(null, { status: 401 }));
    expect(await failureOf(first)).toMatchObject({ status: 401, isMaybeAccepted: false });
    const after = await failureOf(client.placeCall(call, { idempotencyKey: "key" }));
    expect(after).toMatchObject({ status: 401, isMaybeAccepted: false });
  });

  it("is yes for a key that another process has used for another request", async () => {
    const { app } = createTestApi();
    stubFetch(app, [], []);
    await clientOf().placeCall(call, { idempotencyKey: "key" });
    const other = { ...call, timezone: "UTC" };
    const error = await failureOf(clientOf().placeCall(other, { idempotencyKey: "key" }));
    expect(isRefused(error) && error.status).toBe(422);
    expect(error).toMatchObject({ isMaybeAccepted: true });
  });

  it("is yes for a part once another part of the list was accepted, also in an earlier call", async () => {
    const { app } = createTestApi();
    const list = Array.from({ length: 10_001 }, () => call);
    const client = clientOf(1);
    stubFetch(app, [], []);
    await client.placeCalls(list, { idempotencyKey: "list" });
    stubFetch(app, ["401 before"], []);
    expect(await failureOf(client.placeCalls(list, { idempotencyKey: "list" }))).toMatchObject({
      status: 401,
      isMaybeAccepted: true,
      accepted: [],
    });
    stubFetch(app, ["dead port"], []);
    // Bytes have left under this key, so it is not told as never sent.
    expect(await failureOf(client.placeCalls(list, { idempotencyKey: "list" }))).toMatchObject({
      type: "unavailable",
      isMaybeAccepted: true,
    });
  });

  it("is yes after the errors of another fetch, which may have tried before", async () => {
    const fetch = () => realFetch(`http://127.0.0.1:${deadPort}/`);
    const client = createClient({
      baseUrl: "http://127.0.0.1:8787",
      token: "oc_token",
      retry: { triesMax: 1 },
      fetch,
    });
    expect(await failureOf(client.placeCall(call))).toMatchObject({
      type: "unavailable",
      isMaybeAccepted: true,
    });
  });
});

describe("the memory of keys", () => {
  it("takes a key for one that may have been accepted once it has had to forget some", () => {
    const memory = createKeyMemory(2);
    for (const key of ["a", "b", "c"]) memory.track([key], false).begin()("refused");
    for (const [key, isKnown] of [
      ["a", false],
      ["b", true],
      ["c", true],
    ] as const) {
      expect([key, memory.track([key], false).isMaybeAccepted()]).toEqual([key, !isKnown]);
    }
    expect(memory.track(["fresh"], true).isMaybeAccepted()).toBe(false);
  });

  it("forgets a key after the service has", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const memory = createKeyMemory(2);
    for (const key of ["a", "b", "c"]) memory.track([key], false).begin()("maybe_accepted");
    vi.advanceTimersByTime(26 * 3_600_000);
    const tracker = memory.track(["a"], false);
    tracker.begin()("refused");
    expect(tracker.isMaybeAccepted()).toBe(false);
    vi.useRealTimers();
  });
});

afterAll(() => vi.unstubAllGlobals());
