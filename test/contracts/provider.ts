import { createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Call } from "../../shared/calls/call.ts";
import type { DialOutcome, FoundCall } from "../../shared/providers/dialing-provider.ts";
import { contextProblem, createProviders, parseRoute } from "../../shared/providers/index.ts";
import { aCall } from "../support/calls.ts";
import { type Received, startReceiver } from "../support/receiver.ts";

/** A request in the form of the provider's reference. */
interface ExpectedRequest {
  /** Default: GET without a body, POST with one. */
  method?: string;
  path: string;
  headers: Record<string, unknown>;
  body?: unknown;
}

/** The facts about a provider that the suite needs. */
interface ProviderUnderTest {
  type: string;
  /** Title of the suite, if the type is ambiguous. */
  title?: string;
  /** The provider's own fields of a route. */
  fields: object;
  secrets: Record<string, string>;
  /** The requests for the first attempt at a call, usually one. */
  requests(call: Call): ExpectedRequest[];
  /** Parses a request's body. Default: JSON. */
  read?(text: string): unknown;
  /** Answer to every request except the last. */
  firstAnswer?: object;
  /** Answers from the provider's published reference (the page is named), and their outcomes. */
  fixtures: { page: string; status: number; body: unknown; outcome: DialOutcome }[];
  /** Look-ups, if the provider supports them: answers of its records in turn, and the result. */
  lookUps?: {
    page: string;
    asks(call: Call): ExpectedRequest[];
    answers(call: Call): unknown[];
    found: FoundCall | undefined;
  }[];
}

/** Period in which the suite looks for a call. */
export const sought = {
  from: Date.parse("2026-11-20T23:59:58.500Z"),
  until: Date.parse("2026-11-21T00:00:40Z"),
};

/** Describes the behaviour of every provider adapter. */
export function describeProvider(provider: ProviderUnderTest): void {
  const { type, title = type, fields, secrets, fixtures, lookUps = [] } = provider;
  const { read = (text): unknown => JSON.parse(text) } = provider;
  const requestsMax = provider.requests(aCall()).length;
  describe(`${title} as a dialing provider`, () => {
    const closing: (() => Promise<unknown>)[] = [];
    afterEach(async () => {
      for (const close of closing.splice(0)) await close();
    });
    const routeAt = (baseUrl: string) => {
      const parsed = parseRoute({ provider: type, ...fields }, { type, baseUrl });
      if ("issues" in parsed) throw new Error(parsed.issues.map(({ message }) => message).join());
      return parsed.route;
    };
    const providerAt = (baseUrl: string) => {
      const options = { environment: secrets, fetch, now: Date.now, print: () => undefined };
      return createProviders(options, [routeAt(baseUrl)])(routeAt(baseUrl));
    };
    const dialAt = (baseUrl: string, call = aCall()) =>
      providerAt(baseUrl).dial({ call, attempt: 1, timeoutSeconds: 1 }, routeAt(baseUrl));
    /** Dials a receiver that gives this last answer. Resolves to the outcome and all requests received. */
    async function dial(answer: Parameters<typeof startReceiver>[0], call = aCall()) {
      const receiver = await startReceiver((request, response, received) => {
        if (received.length >= requestsMax) answer(request, response, received);
        else response.end(JSON.stringify(provider.firstAnswer));
      });
      closing.push(receiver.close);
      return { outcome: await dialAt(receiver.url, call), received: receiver.received };
    }
    /** Looks a call up at a receiver that gives this answer. */
    async function lookUp(answer: Parameters<typeof startReceiver>[0], call = aCall()) {
      const receiver = await startReceiver(answer);
      closing.push(receiver.close);
      const { lookUp: find } = providerAt(receiver.url);
      const found = find?.({ call, attempt: 1, ...sought }, routeAt(receiver.url));
      return { found: (await found?.catch(() => "not to be asked")) ?? "nothing", ...receiver };
    }
    const expectRequests = (received: Received[], expected: ExpectedRequest[]) => {
      expect(received.map(({ path }) => path)).toEqual(expected.map(({ path }) => path));
      for (const [index, { method: expectedMethod, headers, body }] of expected.entries()) {
        const { method, headers: sent, text = "" } = received[index] ?? {};
        expect(method).toBe(expectedMethod ?? (body === undefined ? "GET" : "POST"));
        expect(sent).toMatchObject(headers);
        expect(body === undefined ? text : read(text)).toEqual(body ?? "");
      }
    };
    const answering = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      dial((_request, response) => {
        const text = typeof body === "string" ? body : JSON.stringify(body);
        response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
      });

    it("makes the requests that the reference has, and no other", async () => {
      const call = aCall({ request: { ...aCall().request, context: {} } });
      const { received } = await dial((_request, response) => response.end("{}"), call);
      expectRequests(received, provider.requests(call));
    });

    const awkward = `"quotes" 'and' \n\r\t </Stream>&amp; 😀 \u2028`;
    it.each<[string, Record<string, string>]>([
      ["quotes, line breaks, tags and emoji", { awkward, "key </Stream> 😀": "x" }],
      ["U+0000", { awkward: "a\u0000b" }],
      ["32 KiB", { awkward, long: "ü".repeat(15_000) }],
    ])(
      "carries a context with %s whole, or says at acceptance that it cannot",
      async (_, context) => {
        const call = aCall({ request: { ...aCall().request, context } });
        const problem = contextProblem(call.request, routeAt("https://example.com"));
        if (problem !== undefined) {
          expect(problem).toMatch(/^(must|is too)/);
          return;
        }
        const { received } = await dial((_request, response) => response.end("{}"), call);
        expectRequests(received, provider.requests(call));
      },
    );

    it("puts neither number nor context into an address or a header", async () => {
      const { received } = await dial((_request, response) => response.end("{}"));
      const places = received.map(({ path, headers }) => [path, headers]);
      expect(places).toHaveLength(requestsMax);
      expect(JSON.stringify(places)).not.toMatch(/2025550123|Zo(ë|%C3%AB)/);
    });

    it.each(fixtures)("reads $status of $page as $outcome", async ({ status, body, outcome }) => {
      const answered = await answering(status, body);
      expect(answered.outcome).toEqual(outcome);
      expect(answered.received).toHaveLength(requestsMax);
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
      for (const { received } of [hangs, resets, long, broken]) {
        expect(received).toHaveLength(requestsMax);
      }
    });

    it("makes no second request where a connection is dropped before it was read", async () => {
      let connections = 0;
      const server = createServer((socket: Socket) => {
        connections++;
        socket.destroy();
      });
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
      closing.push(() => new Promise((closed) => server.close(closed)));
      const address = server.address();
      const port = typeof address === "object" ? address?.port : 0;
      const outcome = await dialAt(`http://127.0.0.1:${port}`);
      // With two requests, the second one places the call: if the first fails, nobody was called.
      expect(outcome).toEqual(
        requestsMax === 1
          ? { kind: "unknown", code: "connection_broken" }
          : { kind: "not_placed", code: "dispatch_connection_broken" },
      );
      expect(connections).toBe(1);
    });

    it.each(lookUps)("looks a call up as in $page: $found", async ({ asks, answers, found }) => {
      const call = aCall();
      const all = answers(call).map((one) => JSON.stringify(one));
      const looked = await lookUp((_request, response, { length }) => {
        response.writeHead(200, { "content-type": "application/json" }).end(all[length - 1] ?? "");
      }, call);
      expect(looked.found).toEqual(found ?? "nothing");
      expectRequests(looked.received, asks(call));
      expect(looked.received.map(({ path }) => path).join()).not.toContain("2025550123");
    });

    if (lookUps.length === 0) return;
    it("finds nothing in an unusable answer", async () => {
      const body = "x".repeat(10_000_000);
      const answers = await Promise.all([
        lookUp((_request, response) => response.end("<html>welcome</html>")),
        lookUp((_request, response) => response.end("null")),
        lookUp((_request, response) => response.end(body)),
        lookUp((_request, response) => response.writeHead(429).end("{}")),
        lookUp((_request, response) => response.writeHead(302, { location: "/other" }).end()),
        lookUp((_request, response) => response.socket?.resetAndDestroy()),
      ]);
      for (const { found, received } of answers) {
        expect(found).toBe("not to be asked");
        expect(received).toHaveLength(1);
      }
    });
  });
}
