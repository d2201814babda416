import { afterEach, expect, it, vi } from "vitest";
import { createClient, OutboundCallsError } from "#infra/client/index.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";

const id = "01KAJ6Y5G0QZ3N4T7V8W9XABCD";
const json = (body: object, status = 200, headers = {}) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
const finished = (isFinished: boolean) => json({ id, total: 1, finished: isFinished, calls: [] });

/** A client that is given these answers, the last one again and again; an error is a lost connection. */
function answered(...answers: (() => Response | Error)[]) {
  const urls: string[] = [];
  const client = createClient({
    baseUrl: "https://service/prod/",
    token: "oc_token",
    retry: { delayMs: 1 },
    fetch: async (request) => {
      urls.push(`${request.method} ${request.url} ${await request.text()}`.trim());
      const answer = answers[Math.min(urls.length, answers.length) - 1]?.();
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error("none");
      return answer;
    },
  });
  return { client, urls };
}

afterEach(() => void vi.useRealTimers());

it("waits until a request is finished, through what is not yet known and what has no answer", async () => {
  vi.useFakeTimers();
  const { client, urls } = answered(
    () => json({ detail: "unknown" }, 404, { "retry-after": "5" }),
    () => new Error("lost"),
    () => json({}, 503),
    () => finished(false),
    () => finished(true),
  );
  const startedAt = Date.now();
  const waiting = client.waitForRequest(id);
  await vi.runAllTimersAsync();
  expect(await waiting).toMatchObject({ id, finished: true });
  expect(urls).toEqual(
    Array.from({ length: 5 }, () => `GET https://service/prod/v1/requests/${id}`),
  );
  // Five seconds that the service asked for, then 1.5, 2.25 and 3.375.
  expect(Date.now() - startedAt).toBe(12_125);
});

it("waits no longer than it is told to, nor for a request that is unknown", async () => {
  vi.useFakeTimers();
  const { client, urls } = answered(() => finished(false));
  const late = client.waitForRequest(id, { msMax: 60_000 }).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  expect(await late).toMatchObject({ type: "timed_out", requestId: id, isMaybeAccepted: false });
  expect(urls.length).toBeLessThan(12);
  const unknown = answered(() => json({ detail: "There is none." }, 404)).client.waitForRequest(id);
  await expect(unknown).rejects.toMatchObject({
    type: "refused",
    status: 404,
    isMaybeAccepted: false,
  });
  const signal = AbortSignal.abort("enough");
  await expect(client.waitForRequest(id, { signal })).rejects.toMatchObject({ type: "aborted" });
});

it("does not repeat a look without end where both time and the service's wait are unbounded", async () => {
  vi.useFakeTimers();
  const { client, urls } = answered(() => json({}, 503, { "retry-after": "99999999999" }));
  const ending = new AbortController();
  const waiting = client
    .waitForRequest(id, { msMax: Infinity, signal: ending.signal })
    .catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(urls).toHaveLength(1);
  ending.abort();
  expect(await waiting).toBeInstanceOf(OutboundCallsError);
});

it("goes through all pages of a request's calls, and repeats a page that was cut off", async () => {
  const cut = () =>
    new Response(new ReadableStream({ start: (stream) => stream.error(new Error("cut")) }), {
      status: 200,
    });
  const { client, urls } = answered(
    () => json({ calls: [{ index: 0 }, { index: 1 }], cursor: "call_1" }),
    cut,
    () => json({ calls: [], cursor: "call_2" }),
    () => json({ calls: [{ index: 2 }] }),
  );
  const indexes: number[] = [];
  for await (const { index } of client.listCalls(id)) indexes.push(index);
  expect(indexes).toEqual([0, 1, 2]);
  expect(urls.map((url) => url.split("?")[1])).toEqual([
    "limit=200",
    "limit=200&cursor=call_1",
    "limit=200&cursor=call_1",
    "limit=200&cursor=call_2",
  ]);
});

it("cancels what waits of a request, answer by answer", async () => {
  const { client, urls } = answered(
    () => json({ cancelled: 1_000, ordered: 1_450, cursor: "call_x" }),
    () => json({}, 503),
    () => json({ cancelled: 450 }),
  );
  expect(await client.cancelRequest(id, { indexes: [0, 17] })).toEqual({
    cancelled: 1_450,
    ordered: 1_450,
  });
  const path = `POST https://service/prod/v1/requests/${id}/cancel`;
  expect(urls).toEqual([
    `${path} {"indexes":[0,17]}`,
    `${path} {"indexes":[0,17],"cursor":"call_x"}`,
    `${path} {"indexes":[0,17],"cursor":"call_x"}`,
  ]);
});

it("reaches the service's own API: a request, its cancellation, and any other operation", async () => {
  const { app } = createTestApi();
  const options = {
    baseUrl: "https://service",
    fetch: async (request: Request) => app.fetch(request),
  };
  const desk = createClient({ ...options, token: tokens.crmDesk });
  const { requestId } = await createClient({ ...options, token: tokens.crm }).placeCall({
    phone_number: "+12025550123",
    agent_id: "agent_sales",
  });
  expect(await desk.cancelRequest(requestId)).toEqual({ cancelled: 0, ordered: 1 });
  const { data, error, response } = await desk.api.GET("/v1/requests/{id}", {
    params: { path: { id: requestId } },
  });
  expect([data, error?.detail, response.status]).toEqual([undefined, expect.any(String), 404]);
  await expect(desk.waitForRequest(requestId, { msMax: 0 })).rejects.toMatchObject({
    type: "timed_out",
  });
});
