import { describe, expect, it } from "vitest";
import {
  createClient,
  isAborted,
  isNotSent,
  isRefused,
  isTimedOut,
  isUnavailable,
  OutboundCallsError,
} from "#infra/client/index.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
const id = "01KAJ6Y5G0QZ3N4T7V8W9XABCD";

const clientOf = (fetch: (request: Request) => Promise<Response>, retry = {}) =>
  createClient({
    baseUrl: "https://calls.example.com",
    token: tokens.crm,
    fetch,
    retry: { triesMax: 1, ...retry },
  });

async function failureOf(work: Promise<unknown>): Promise<OutboundCallsError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof OutboundCallsError) return error;
  throw error;
}

describe("the message of an error", () => {
  it("says status, place and detail of the first problem, and how many more there are", async () => {
    const { app } = createTestApi();
    const client = clientOf(async (request) => app.fetch(request));
    const wrong = [
      { phone_number: "5550177", agent_id: "nobody", timezone: "Mars" },
      call,
      { ...call, context: { n: 1 } },
    ];
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is wrong
    const error = await failureOf(client.placeCalls(wrong as never));
    expect(error.message).toBe(
      `refused 422: ${error.errors[0]?.pointer} ${error.errors[0]?.detail} (and ${error.errors.length - 1} more) [X-Request-Id ${error.requestId}]`,
    );
    expect(error.errors.length).toBeGreaterThan(2);
    expect(error.message).not.toMatch(/5550177|nobody|Mars/);
    const named = await failureOf(client.placeCall({ ...call, agent_id: "nobody" }));
    expect(named.message).toMatch(/^refused 422: \/agent_id .+ \[X-Request-Id \w{26}\]$/);
    const stranger = createClient({
      baseUrl: "https://calls.example.com",
      token: "oc_wrong",
      fetch: async (request) => app.fetch(request),
    });
    const refused = await failureOf(stranger.placeCall(call));
    expect(refused.message).toMatch(/^refused 401: .*token.* \[X-Request-Id \w{26}\]$/);
  });

  it("is one line of bounded length, whatever something between answers, and takes no word of what is no problem", async () => {
    const problem = { detail: `a\r\nERROR forged\u2028${"x".repeat(5_000)}` };
    const answer = (type: string) => async () =>
      new Response(JSON.stringify(problem), { status: 400, headers: { "content-type": type } });
    const forged = await failureOf(clientOf(answer("application/problem+json")).placeCall(call));
    expect(forged.message).toMatch(/^refused 400: a ERROR forged x{50}[^\r\n\u2028]*…$/u);
    expect(forged.message.length).toBeLessThan(400);
    const foreign = await failureOf(clientOf(answer("application/json")).placeCall(call));
    expect(foreign.message).toBe("refused 400: The answer has no detail.");
  });

  it("says why no answer came, without what was sent", async () => {
    const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    const lost = async () => {
      throw new TypeError(`fetch failed for ${tokens.crm}`, { cause: reset });
    };
    const error = await failureOf(clientOf(lost).placeCall(call));
    expect(error.message).toMatch(
      /^unavailable: No answer came \(1 try within \d+ ms\): ECONNRESET; calls may have been accepted/,
    );
    expect(error.message).not.toContain(tokens.crm);
    expect(error.cause).toBeInstanceOf(TypeError);
  });
});

describe("the guards", () => {
  it("tell errors apart by their type, and are false for any other error", async () => {
    const guards = { isAborted, isNotSent, isRefused, isTimedOut, isUnavailable };
    const holding = (error: unknown) =>
      Object.entries(guards).flatMap(([name, guard]) => (guard(error) ? name : []));
    const answer = (status: number) => async () => new Response(null, { status });
    expect(holding(await failureOf(clientOf(answer(422)).placeCall(call)))).toEqual(["isRefused"]);
    expect(holding(await failureOf(clientOf(answer(503)).placeCall(call)))).toEqual([
      "isUnavailable",
    ]);
    const signal = AbortSignal.abort();
    expect(holding(await failureOf(clientOf(answer(503)).placeCall(call, { signal })))).toEqual([
      "isAborted",
    ]);
    expect(
      holding(await failureOf(clientOf(answer(503)).waitForRequest(id, { msMax: 0 }))),
    ).toEqual(["isTimedOut"]);
    expect(holding(await failureOf(clientOf(answer(201)).placeCall(call)))).toEqual([]);
    expect(holding(new Error("another"))).toEqual([]);
  });
});

// A fetch that takes no signal would go on for good: that the methods end is what is tested.
describe("a time limit", () => {
  const endless = () => new Promise<Response>(() => {});

  it("ends a wait within it, whatever a look waits for, and its cause is the last error", async () => {
    const error = await failureOf(
      clientOf(endless, { tryMsMax: 1e9 }).waitForRequest(id, { msMax: 100 }),
    );
    expect(error).toMatchObject({ type: "timed_out", requestId: id, isMaybeAccepted: false });
    expect(error.cause).toMatchObject({ type: "unavailable" });
    expect(error.message).toContain("The last look: unavailable: No answer came");
  });

  it("ends sending within it, and then calls may have been accepted", async () => {
    const client = clientOf(endless, { tryMsMax: 1e9, msMax: 100, triesMax: 8 });
    const error = await failureOf(client.placeCall(call));
    expect(error).toMatchObject({ type: "unavailable", isMaybeAccepted: true });
    const own = await failureOf(clientOf(endless, {}).placeCalls([call], { msMax: 50 }));
    expect(own).toMatchObject({ type: "unavailable", isMaybeAccepted: true });
    const none = await failureOf(clientOf(endless, {}).placeCall(call, { msMax: 0 }));
    expect(none).toMatchObject({ type: "not_sent", isMaybeAccepted: false });
  });

  it("and a signal end every other method", async () => {
    const client = clientOf(endless, { tryMsMax: 1e9, triesMax: 1 });
    const first = async (all: AsyncGenerator) => all.next();
    const methods: ((options: { msMax?: number; signal?: AbortSignal }) => Promise<unknown>)[] = [
      (options) => client.getRequest(id, options),
      (options) => client.getCall(`call_${id}_00000`, options),
      (options) => client.findRequest("key", options),
      (options) => client.cancelRequest(id, options),
      (options) => first(client.listCalls(id, options)),
      (options) => first(client.listRequests(options)),
      (options) => client.getToken(options),
      (options) => client.getUsage(options),
      (options) => client.addOptOuts(["+12025550123"], options),
      (options) => client.receivers.list(options),
      (options) => client.receivers.put("main", { url: "https://example.com" }, options),
      (options) => client.receivers.delete("main", options),
      (options) => client.receivers.rotateSecret("main", options),
      (options) => client.receivers.test("main", options),
      (options) =>
        client.receivers.replay("main", { from: new Date(0), until: new Date(1), ...options }),
      (options) => first(client.receivers.listDeliveries("main", options)),
      (options) => client.sentFiles.find("0".repeat(64), options),
      (options) => client.sentFiles.start({ file: "", campaign: "", parts: [] }, options),
      (options) =>
        client.sentFiles.mark({ file: "", round: 1, index: 0, state: "planned" }, options),
      (options) => client.placeCall(call, options),
      (options) => client.waitForRequest(id, options),
    ];
    for (const method of methods) {
      const over = await failureOf(method({ msMax: 30 }));
      expect(["unavailable", "timed_out"]).toContain(over.type);
      const aborted = await failureOf(method({ signal: AbortSignal.timeout(30) }));
      expect(aborted.type).toBe("aborted");
    }
  });
});

describe("waiting for a request of a service that does not answer", () => {
  it("ends with that error once no look was answered for as long as a request is repeated", async () => {
    const lost = async () => {
      throw new Error("lost");
    };
    const client = clientOf(lost, { msMax: 1_500 });
    const error = await failureOf(client.waitForRequest(id));
    expect(error).toMatchObject({ type: "unavailable" });
  });
});
