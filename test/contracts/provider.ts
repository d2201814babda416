import { createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Call } from "../../shared/call.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import { createProviders, parseRoute } from "../../shared/providers/index.ts";
import { aCall } from "../support/calls.ts";
import { startReceiver } from "../support/receiver.ts";

/** What the suite needs to know of a provider whose API is one POST of JSON. */
export interface ProviderUnderTest {
  type: string;
  /** The provider's own fields of a route. */
  fields: object;
  secrets: Record<string, string>;
  /** Path, headers and body of the request for a call, as the provider's reference has them. */
  request(call: Call): { path: string; headers: Record<string, string>; body: unknown };
  /** Answers from the provider's published reference (the page is named), and what they mean. */
  fixtures: { page: string; status: number; body: unknown; outcome: DialOutcome }[];
}

/** What every adapter does, whatever its provider's API looks like. */
export function describeProvider(provider: ProviderUnderTest): void {
  const { type, fields, secrets, fixtures } = provider;
  describe(`${type} as a dialing provider`, () => {
    const closing: (() => Promise<unknown>)[] = [];
    afterEach(async () => {
      for (const close of closing.splice(0)) await close();
    });
    const dialAt = async (baseUrl: string, call = aCall(), timeoutSeconds = 1) => {
      const parsed = parseRoute({ provider: type, ...fields }, { type, baseUrl });
      if ("issues" in parsed) throw new Error(parsed.issues.map(({ message }) => message).join());
      const options = { environment: secrets, fetch, now: Date.now, print: () => undefined };
      return createProviders(options, [parsed.route]).dial(call, parsed.route, timeoutSeconds);
    };
    /** Dials a receiver that answers so; answers with the outcome and all that the receiver was sent. */
    async function dial(answer: Parameters<typeof startReceiver>[0], call = aCall()) {
      const receiver = await startReceiver(answer);
      closing.push(receiver.close);
      return { outcome: await dialAt(receiver.url, call), received: receiver.received };
    }
    const answering = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      dial((_request, response) => {
        const text = typeof body === "string" ? body : JSON.stringify(body);
        response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
      });

    it("makes one request, to the byte as the reference has it", async () => {
      const call = aCall();
      const { received } = await dial((_request, response) => response.end("{}"), call);
      const { path, headers, body } = provider.request(call);
      expect(received).toHaveLength(1);
      expect(received[0]?.path).toBe(path);
      expect(received[0]?.headers).toMatchObject(headers);
      expect(JSON.parse(received[0]?.text ?? "")).toEqual(body);
    });

    it("carries a context of 32 KiB with anything in it, whole", async () => {
      const awkward = `"quotes" 'and' \n\r\t </Stream>&amp; \u0000 😀 \u2028`;
      const context = { awkward, "key </Stream> 😀": "x", long: "ü".repeat(15_000) };
      const call = aCall({ request: { ...aCall().request, context } });
      const { received } = await dial((_request, response) => response.end("{}"), call);
      expect(JSON.parse(received[0]?.text ?? "")).toEqual(provider.request(call).body);
    });

    it("puts neither number nor context into the address or a header", async () => {
      const { received } = await dial((_request, response) => response.end("{}"));
      const { path, headers } = received[0] ?? {};
      expect(JSON.stringify([path, headers])).not.toMatch(/2025550123|Zoë/);
    });

    it.each(fixtures)("reads $status of $page as $outcome", async ({ status, body, outcome }) => {
      const answered = await answering(status, body);
      expect(answered.outcome).toEqual(outcome);
      expect(answered.received).toHaveLength(1);
    });

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
      expect(answered.received).toHaveLength(1);
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
      const hangs = await dial(() => undefined);
      const resets = await dial((_request, response) => response.socket?.resetAndDestroy());
      const long = await dial((_request, response) => response.end("x".repeat(10_000_000)));
      const broken = await dial((_request, response) => {
        response.writeHead(201, { "content-length": "100" }).write('{"id": "');
        setTimeout(() => response.destroy(), 20);
      });
      expect([hangs, resets, long, broken].map(({ outcome }) => outcome)).toEqual([
        unknown("time_out"),
        unknown("connection_broken"),
        unknown("answer_unreadable"),
        unknown("answer_unreadable"),
      ]);
      expect([hangs, resets, long, broken].map(({ received }) => received.length)).toEqual([
        1, 1, 1, 1,
      ]);
    });

    it("does not know where a connection is dropped before the request was read", async () => {
      let connections = 0;
      const server = createServer((socket: Socket) => {
        connections++;
        socket.destroy();
      });
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
      closing.push(() => new Promise((closed) => server.close(closed)));
      const address = server.address();
      const port = typeof address === "object" ? address?.port : 0;
      expect(await dialAt(`http://127.0.0.1:${port}`)).toEqual({
        kind: "unknown",
        code: "connection_broken",
      });
      expect(connections).toBe(1);
    });
  });
}
