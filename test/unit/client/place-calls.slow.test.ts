import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createClient, OutboundCallsError, type PlacedRequest } from "#infra/client/index.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { startReceiver } from "#test/support/receiver.ts";
import { until } from "#test/support/service.ts";
import { type Fault, faults, startFaultyServer } from "#test/support/faulty-server.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
/** A try that a busy machine answers late is in time, unless its answer never comes. */
const retry = { triesMax: 3, delayMs: 1, tryMsMax: 60_000 };

let api = createTestApi();
/** Faults of the next requests, the first one first; after them there are none. */
let coming: Fault[] = [];
/** Requests that reached the server. */
let requests = 0;
let server: Awaited<ReturnType<typeof startFaultyServer>>;
const serve = async (request: Request) => api.app.fetch(request);
beforeAll(async () => {
  server = await startFaultyServer(serve, () => {
    requests += 1;
    return coming.shift() ?? "none";
  });
});
afterAll(() => server.close());

const clientOf = (more: Partial<Parameters<typeof createClient>[0]> = {}) =>
  createClient({
    baseUrl: server.url,
    token: tokens.crm,
    retry: coming.includes("hang after") ? { ...retry, tryMsMax: 300 } : retry,
    ...more,
  });

/** Takes the accepted calls from the queue, by the id of their request. A call is dialed once an id. */
async function acceptedCalls(): Promise<Record<string, number>> {
  const messages = await Promise.all(api.queue.take().map((delivered) => delivered.open()));
  const parsed = messages.map((json): { requestId: string; requests: unknown[] } =>
    JSON.parse(json),
  );
  return Object.fromEntries(parsed.map(({ requestId, requests: all }) => [requestId, all.length]));
}

async function failureOf(work: Promise<unknown>): Promise<OutboundCallsError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof OutboundCallsError) return error;
  throw error;
}

describe("placing calls through a network that loses requests and answers", () => {
  it("accepts each call once, reports what may have been accepted, and succeeds under the key of the error", async () => {
    const placing = fc.record({
      count: fc.integer({ min: 1, max: 3 }),
      isBatch: fc.boolean(),
      faults: fc.array(fc.constantFrom(...faults), { maxLength: 4 }),
    });
    const property = fc.asyncProperty(placing, async ({ count, isBatch, faults: some }) => {
      api = createTestApi();
      coming = [...some];
      const client = clientOf();
      const place = (
        options: object,
      ): Promise<Pick<PlacedRequest, "callIds" | "idempotencyKey">> =>
        isBatch
          ? client.placeCalls(
              Array.from({ length: count }, () => call),
              options,
            )
          : client.placeCall(call, options);
      const first = await place({}).catch((error: unknown) => {
        if (error instanceof OutboundCallsError) return error;
        throw error;
      });
      const before = await acceptedCalls();
      const isMissing = Object.keys(before).length === 0;
      if (first instanceof OutboundCallsError) {
        expect(first.isMaybeAccepted || isMissing).toBe(true);
        expect(first.idempotencyKey).toMatch(/^[0-9a-f]{32}$/);
      }
      coming = [];
      const again = await place({ idempotencyKey: first.idempotencyKey });
      const all = { ...before, ...(await acceptedCalls()) };
      const number = isBatch ? count : 1;
      const [id] = Object.keys(all);
      expect(all).toEqual({ [id ?? ""]: number });
      expect(again.callIds).toEqual(
        Array.from({ length: number }, (_, n) => `call_${id}_0000${n}`),
      );
      if ("callIds" in first) expect(first.callIds).toEqual(again.callIds);
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it.each<[Fault[], number, boolean]>([
    [["cut before", "503 before"], 3, false],
    [["cut after"], 2, true],
    [["hang after", "503 after"], 3, true],
    [["429 before"], 2, false],
  ])(
    "continues after %j, and says whether an earlier try was accepted",
    async (some, tries, replayed) => {
      api = createTestApi();
      [coming, requests] = [[...some], 0];
      expect(await clientOf().placeCall(call)).toMatchObject({ replayed });
      expect(requests).toBe(tries);
      expect(Object.keys(await acceptedCalls())).toHaveLength(1);
    },
  );

  it("sends a list of 20,001 calls as three requests, and the same three when it is repeated", async () => {
    api = createTestApi();
    const list = Array.from({ length: 20_001 }, () => call);
    coming = ["none", "cut after", "cut before", "503 after"];
    const patient = clientOf();
    const error = await failureOf(patient.placeCalls(list, { idempotencyKey: "list-7" }));
    expect(error).toMatchObject({
      type: "unavailable",
      isMaybeAccepted: true,
      idempotencyKey: "list-7",
    });
    expect(error.accepted.map(({ callIds }) => callIds.length)).toEqual([10_000]);
    const before = await acceptedCalls();
    const placed = await patient.placeCalls(list, { idempotencyKey: "list-7" });
    expect(placed.requests.map(({ callIds, replayed }) => [callIds.length, replayed])).toEqual([
      [10_000, true],
      [10_000, true],
      [1, false],
    ]);
    expect(placed.requests[0]).toEqual({ ...error.accepted[0], replayed: true });
    const all = { ...before, ...(await acceptedCalls()) };
    expect(Object.values(all).toSorted((a, b) => a - b)).toEqual([1, 10_000, 10_000]);
    expect(new Set(placed.callIds).size).toBe(20_001);
  });

  it("says of an answer that is not the service's that calls may have been accepted, and does not repeat it", async () => {
    const answers = {
      "a page of something between": new Response("<html>", { status: 200 }),
      "a 201 without an id": new Response(null, { status: 201 }),
      "a redirect": new Response(null, { status: 307, headers: { location: "/elsewhere" } }),
      "a time limit of something between": new Response(null, { status: 408 }),
    };
    for (const [what, response] of Object.entries(answers)) {
      let sent = 0;
      const fetch = async () => {
        sent += 1;
        return response;
      };
      const error = await failureOf(clientOf({ fetch }).placeCall(call));
      expect([what, error.type, error.isMaybeAccepted, sent]).toEqual([
        what,
        "unexpected",
        true,
        1,
      ]);
    }
  });
});

it("carries neither calls nor the token to where an answer redirects it", async () => {
  const elsewhere = await startReceiver((_, response) => response.writeHead(201).end());
  const location = `${elsewhere.url}/v1/calls`;
  const redirecting = await startReceiver((_, response) =>
    response.writeHead(307, { location }).end(),
  );
  const error = await failureOf(clientOf({ baseUrl: redirecting.url }).placeCall(call));
  expect(error).toMatchObject({ type: "unexpected", status: 307, isMaybeAccepted: true });
  expect([redirecting.received.length, elsewhere.received.length]).toEqual([1, 0]);
  await Promise.all([elsewhere.close(), redirecting.close()]);
});

describe("a call that is refused", () => {
  it.each([
    ["a wrong token", { token: "oc_wrong" }, call, 401],
    ["a wrong field", {}, { ...call, agent_id: "nobody" }, 422],
  ])("is not sent again: %s", async (_, more, wrong, status) => {
    api = createTestApi();
    requests = 0;
    const error = await failureOf(clientOf(more).placeCall(wrong));
    expect(error).toMatchObject({ type: "refused", status, isMaybeAccepted: false });
    expect(error.requestId).toMatch(/^[0-9A-Z]{26}$/);
    expect(requests).toBe(1);
    expect(await acceptedCalls()).toEqual({});
  });

  it("may have been accepted before: a token that ends between two tries proves nothing", async () => {
    api = createTestApi();
    coming = ["cut after"];
    let tries = 0;
    const fetch = (request: Request) => {
      if (++tries > 1) request.headers.set("authorization", "Bearer oc_ended");
      return globalThis.fetch(request);
    };
    const error = await failureOf(clientOf({ fetch }).placeCall(call));
    expect(error).toMatchObject({ type: "refused", status: 401, isMaybeAccepted: true });
    expect(error.message).toContain("repeat it only under its idempotencyKey");
    expect(Object.keys(await acceptedCalls())).toHaveLength(1);
  });

  it("is found in the whole list by its pointer, and the parts before it are accepted", async () => {
    api = createTestApi();
    const list = Array.from({ length: 10_004 }, () => call);
    list[10_002] = { ...call, phone_number: "+49301234567" };
    const error = await failureOf(
      clientOf({ retry: {} }).placeCalls(list, { idempotencyKey: "k" }),
    );
    expect(error).toMatchObject({ type: "refused", status: 422, isMaybeAccepted: true });
    expect(error.errors.map(({ pointer }) => pointer)).toEqual(["/10002/phone_number"]);
    expect(error.accepted).toHaveLength(1);
    list[10_002] = call;
    const placed = await clientOf({ retry: {} }).placeCalls(list, { idempotencyKey: "k" });
    expect(placed.requests.map(({ replayed }) => replayed)).toEqual([true, false]);
    expect(Object.values(await acceptedCalls()).toSorted((a, b) => a - b)).toEqual([4, 10_000]);
  });

  it("has a key that was used for another call", async () => {
    api = createTestApi();
    await clientOf().placeCall(call, { idempotencyKey: "one" });
    const error = await failureOf(
      clientOf().placeCall({ ...call, timezone: "UTC" }, { idempotencyKey: "one" }),
    );
    expect(error.errors).toEqual([{ header: "Idempotency-Key", detail: expect.any(String) }]);
  });
});

describe("a client", () => {
  it("sends the same key and bytes on every try, and the headers that say when", async () => {
    const sent: { headers: object; text: string }[] = [];
    const fetch = async (request: Request) => {
      const { "idempotency-key": key, ...headers } = Object.fromEntries(request.headers);
      sent.push({ headers: { key, ...headers }, text: await request.text() });
      return new Response(null, { status: 503 });
    };
    const changing = { ...call, context: { name: "Ada" } };
    const options = { notBefore: new Date(0), urgent: true, campaign: "Frühling" };
    const work = failureOf(clientOf({ fetch }).placeCall(changing, options));
    changing.context.name = "Bob"; // the caller goes on with his object
    const error = await work;
    expect(error).toMatchObject({ status: 503, isMaybeAccepted: true });
    const one = {
      headers: {
        key: error.idempotencyKey,
        authorization: `Bearer ${tokens.crm}`,
        "content-type": "application/json",
        "call-not-before": "1970-01-01T00:00:00.000Z",
        "call-priority": "urgent",
        "call-campaign": "UTF-8''Fr%C3%BChling",
      },
      text: JSON.stringify({ ...call, context: { name: "Ada" } }),
    };
    expect(sent).toEqual([one, one, one]);
    expect(JSON.stringify(error) + error.message).not.toMatch(/Ada|202555|oc_/);
  });

  it("waits as long as the service asks, and not beyond its own time", async () => {
    const at: number[] = [];
    const fetch = async () => {
      at.push(Date.now());
      const answer =
        at.length === 1 ? { status: 503, headers: { "retry-after": "1" } } : { status: 401 };
      return new Response(null, answer);
    };
    await failureOf(clientOf({ fetch }).placeCall(call));
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(990);
    let tries = 0;
    const later = async () => {
      tries += 1;
      return new Response(null, { status: 503, headers: { "retry-after": "3600" } });
    };
    const error = await failureOf(clientOf({ fetch: later }).placeCall(call));
    expect([tries, error.retryAfterMs]).toEqual([1, 3_600_000]);
    const date = new Date(Date.now() + 60_000).toUTCString();
    const dated = async () => new Response(null, { status: 503, headers: { "retry-after": date } });
    const bounds = { ...retry, msMax: 1_000 };
    const other = await failureOf(clientOf({ fetch: dated, retry: bounds }).placeCall(call));
    expect(other.retryAfterMs).toBeGreaterThan(50_000);
  });

  // Under a key that is older than 24 hours, the service would take the calls for others.
  it("repeats nothing after its time limit or the key's 24 hours, though the machine slept in between", async () => {
    const bounds = { ...retry, delayMs: 60, triesMax: 9 };
    for (const msMax of [120_000, Infinity]) {
      const now = vi.spyOn(Date, "now");
      let tries = 0;
      const fetch = async () => {
        tries += 1;
        const wokenAt = Date.now() + 30 * 3_600_000;
        setTimeout(() => now.mockReturnValue(wokenAt), 0); // while the client waits for its next try
        throw new Error("The connection was lost.");
      };
      const error = await failureOf(
        clientOf({ fetch, retry: { ...bounds, msMax } }).placeCall(call),
      );
      now.mockRestore();
      expect(error).toMatchObject({ type: "unavailable", isMaybeAccepted: true });
      expect(tries).toBe(1);
    }
  });

  it("stops at once when its caller aborts, and says whether something was sent", async () => {
    api = createTestApi();
    const reason = new Error("enough");
    const early = await failureOf(
      clientOf().placeCall(call, { signal: AbortSignal.abort(reason) }),
    );
    expect(early).toMatchObject({ type: "aborted", isMaybeAccepted: false, cause: reason });
    const slow = { ...retry, delayMs: 60_000 };
    for (const fault of ["hang after", "503 before"] as const) {
      [coming, requests] = [[fault], 0];
      const caller = new AbortController();
      const placing = failureOf(
        clientOf({ retry: slow }).placeCall(call, { signal: caller.signal }),
      );
      await until(() => requests > 0);
      caller.abort();
      expect(await placing).toMatchObject({ type: "aborted", isMaybeAccepted: true });
    }
    const accepted: string[] = [];
    await until(async () => accepted.push(...Object.keys(await acceptedCalls())) > 0);
    expect(accepted).toHaveLength(1);
  });

  it("sends nothing under a key or to an address that cannot be", async () => {
    for (const idempotencyKey of ["", "a,b", "ä", " a", "x".repeat(241), "a\nb"]) {
      await expect(clientOf().placeCall(call, { idempotencyKey })).rejects.toThrow(RangeError);
    }
    expect(() => clientOf({ baseUrl: "nowhere" })).toThrow(RangeError);
  });
});
