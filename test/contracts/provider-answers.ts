import { createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { aCall } from "../support/calls.ts";
import { type ProviderBench, saysNotPlaced } from "./provider-bench.ts";

/** Describes how an adapter reads answers: documented ones, those by status alone, and broken ones. */
export function describeAnswers(bench: ProviderBench): void {
  const { provider, dial, dialAt, requestsMax } = bench;
  const answering = (status: number, body: unknown, headers: Record<string, string> = {}) =>
    dial((_request, response) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
    });

  it.each(provider.fixtures)(
    "reads $status of $page as $outcome",
    async ({ status, body, headers, outcome }) => {
      const answered = await answering(status, body, headers);
      expect(answered.outcome).toEqual(outcome);
      expect(answered.received).toHaveLength(requestsMax);
    },
  );

  it.each(provider.fixtures.filter(({ text }) => text !== undefined))(
    "finds $text within a longer message",
    async ({ status, body, headers, text = "", outcome }) => {
      const inJson = (value: string) => JSON.stringify(value).slice(1, -1);
      const whole = JSON.stringify(body);
      const longer = whole.replace(inJson(text), inJson(`twirp error unknown: ${text}, again`));
      expect(longer).not.toBe(whole);
      expect((await answering(status, longer, headers)).outcome).toEqual(outcome);
    },
  );

  it.each<[number, Record<string, string>, string, DialOutcome]>([
    [200, {}, "", { kind: "unknown", code: "answer_unreadable" }],
    [201, {}, "<html>welcome</html>", { kind: "unknown", code: "answer_unreadable" }],
    [201, {}, "{}", { kind: "unknown", code: "answer_unreadable" }],
    [201, {}, "null", { kind: "unknown", code: "answer_unreadable" }],
    [302, { location: "/elsewhere" }, "", { kind: "unknown", code: "http_302" }],
    [400, {}, "{}", { kind: "rejected", code: "http_400" }],
    [401, {}, "{}", { kind: "account_refused", code: "http_401" }],
    [402, {}, "{}", { kind: "account_refused", code: "http_402" }],
    [403, {}, "{}", { kind: "forbidden", code: "http_403" }],
    [404, {}, "{}", { kind: "rejected", code: "http_404" }],
    [408, {}, "{}", { kind: "unknown", code: "http_408" }],
    [409, {}, "{}", { kind: "unknown", code: "http_409" }],
    [422, {}, "{}", { kind: "rejected", code: "http_422" }],
    [429, {}, "{}", { kind: "not_placed", code: "http_429" }],
    [
      429,
      { "retry-after": "7" },
      "{}",
      { kind: "not_placed", code: "http_429", retryAfterSeconds: 7 },
    ],
    [500, {}, "{}", { kind: "unknown", code: "http_500" }],
    [503, { "retry-after": "7" }, "{}", { kind: "unknown", code: "http_503" }],
  ])("takes %i %j %s as %j, after one request", async (status, headers, body, outcome) => {
    const answered = await answering(status, body, headers);
    expect(answered.outcome).toEqual(outcome);
    expect(answered.received).toHaveLength(requestsMax);
  });

  it("takes Retry-After as a date", async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const { outcome } = await answering(429, "{}", { "retry-after": date });
    const seconds = outcome.kind === "not_placed" ? (outcome.retryAfterSeconds ?? 0) : 0;
    expect(seconds).toBeGreaterThan(50);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  it("does not know what became of a call whose answer hangs, breaks off or never ends", async () => {
    const unknown = (code: string) => ({ kind: "unknown", code });
    // Long enough for the requests before the last one, each of which has a part of it, on a machine that does much else.
    const limited = { timeoutSeconds: requestsMax === 1 ? 3 : 20 };
    const all = await Promise.all([
      dial(() => undefined, aCall(), limited),
      dial((_request, response) => response.socket?.resetAndDestroy()),
      dial((_request, response) => response.end("x".repeat(10_000_000))),
      dial((_request, response) => {
        // It ends the connection once what was written has left, however slow the machine is.
        response.writeHead(201, { "content-length": "100" });
        response.write('{"id": "', () => response.socket?.end());
      }),
      dial(
        (_request, response) => {
          response.writeHead(201).write('{"id": "');
        },
        aCall(),
        limited,
      ),
    ]);
    expect(all.map(({ outcome }) => outcome)).toEqual([
      unknown("time_out"),
      unknown("connection_broken"),
      unknown("answer_unreadable"),
      unknown("answer_unreadable"),
      unknown("answer_unreadable"),
    ]);
    for (const { received } of all) expect(received).toHaveLength(requestsMax);
  });

  const ringing = provider.fixtures.filter(({ outcome }) => !saysNotPlaced(outcome));
  it.each(ringing)(
    "does not know what $status of $page means if it breaks off",
    async ({ status, body, headers }) => {
      const text = JSON.stringify(body);
      const { outcome } = await dial((_request, response) => {
        const length = { "content-length": String(Buffer.byteLength(text) + 1) };
        response.writeHead(status, { ...headers, ...length });
        response.write(text, () => response.socket?.end());
      });
      expect(saysNotPlaced(outcome)).toBe(false);
    },
  );

  it("makes no second request where a connection is dropped before it was read", async () => {
    let connections = 0;
    const server = createServer((socket: Socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => new Promise((closed) => server.close(() => closed())));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const outcome = await dialAt(`http://127.0.0.1:${port}`);
    // With several requests, the last one places the call: if the first fails, nobody was called.
    expect(outcome).toEqual(
      requestsMax === 1
        ? { kind: "unknown", code: "connection_broken" }
        : { kind: "not_placed", code: "dispatch_connection_broken" },
    );
    expect(connections).toBe(1);
  });
}
