import { toAccountName } from "#shared/calls/ids.ts";
import { createServer } from "node:net";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { createProviders } from "#shared/providers/providers.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { saysNotPlaced } from "#test/contracts/provider-bench.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";
import { aCall } from "#test/support/calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";
import { webhookAnswers } from "#test/support/provider-answers/webhook.ts";
import { freePort } from "#test/support/service.ts";

const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const call = aCall();
/** Time that a busy machine has for an answer. */
const patientSeconds = 60;
const dialAlong = (
  route: Route,
  { environment = {}, timeoutSeconds = patientSeconds, print = (_line: string): void => undefined },
) =>
  createProviders(
    { environment, fetch, now: Date.now, print },
    [],
  )(route).dial({ call, attempt: 1, timeoutSeconds, guarded: (own) => own }, route);
const dial = (url: string, environment = {}, timeoutSeconds = patientSeconds) =>
  dialAlong(
    { account: toAccountName("webhook"), provider: "webhook", url },
    { environment, timeoutSeconds },
  );

describe("the webhook", () => {
  it("posts the call, signed so that a Standard Webhooks library verifies it", async () => {
    const receiver = await startTestReceiver((_request, response) => response.end('{"id":"CA1"}'));
    const outcome = await dial(`${receiver.url}/dial?x=1`, { WEBHOOK_SECRET });
    expect(outcome).toEqual({ kind: "placed", providerCallId: "CA1" });
    const [received, ...others] = receiver.received;
    expect(others).toEqual([]);
    expect(received).toMatchObject({
      path: "/dial?x=1",
      headers: { "content-type": "application/json", "webhook-id": call.id },
    });
    const headers = Object.fromEntries(
      ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [
        name,
        String(received?.headers[name]),
      ]),
    );
    expect(new Webhook(WEBHOOK_SECRET).verify(received?.text ?? "", headers)).toEqual({
      id: call.id,
      request_id: call.requestId,
      phone_number: call.request.phone_number,
      agent_id: call.request.agent_id,
      context: call.request.context,
      timezone: call.request.timezone,
      accepted_at: new Date(call.acceptedAt).toISOString(),
    });
    expect(() => new Webhook(WEBHOOK_SECRET).verify(`${received?.text} `, headers)).toThrow();
  });

  it("stores no id of an answer that has the callee's number, with or without its country code", async () => {
    const digits = call.request.phone_number.slice(1);
    const national = digits.slice(1);
    const spaced = `(${national.slice(0, 3)}) ${national.slice(3, 6)}-${national.slice(6)}`;
    const ids = [`call-${digits}`, national, `${spaced}/7`, `c${digits.slice(1, 9)}`];
    const receiver = await startTestReceiver((request, response) =>
      response.end(JSON.stringify({ id: decodeURIComponent(request.path.slice(1)) })),
    );
    const idOf = async (id: string) => {
      const outcome = await dial(`${receiver.url}/${encodeURIComponent(id)}`);
      return outcome.kind === "placed" ? outcome.providerCallId : outcome;
    };
    expect(await Promise.all(ids.map(idOf))).toEqual([undefined, undefined, undefined, ids[3]]);
  });

  it("signs the time, so that whoever receives it can refuse it when it is replayed", async () => {
    const receiver = await startTestReceiver((_request, response) => response.end());
    const tenMinutesAgo = () => Date.now() - 600_000;
    const options = { environment: { WEBHOOK_SECRET }, fetch, now: tenMinutesAgo, print: () => {} };
    const route = {
      account: toAccountName("webhook"),
      provider: "webhook",
      url: receiver.url,
    } as const;
    await createProviders(
      options,
      [],
    )(route).dial(
      { call, attempt: 1, timeoutSeconds: patientSeconds, guarded: (own) => own },
      route,
    );
    const [received] = receiver.received;
    const sent = (name: string) => String(received?.headers[name]);
    const headers = {
      "webhook-id": sent("webhook-id"),
      "webhook-timestamp": sent("webhook-timestamp"),
      "webhook-signature": sent("webhook-signature"),
    };
    const text = received?.text ?? "";
    const verify = (changed: Partial<typeof headers>) => () =>
      new Webhook(WEBHOOK_SECRET).verify(text, { ...headers, ...changed });
    expect(verify({})).toThrow("Message timestamp too old");
    const now = String(Math.floor(Date.now() / 1000));
    expect(verify({ "webhook-timestamp": now })).toThrow("No matching signature found");
  });

  it.each([
    [200, {}, "", { kind: "placed" }],
    [200, {}, '{"id":5}', { kind: "placed" }],
    [200, {}, `{"id":"${"x".repeat(70_000)}"}`, { kind: "placed" }],
    [302, { location: "/other" }, "", { kind: "unknown", code: "http_302" }],
    [400, {}, "", { kind: "rejected", code: "http_400" }],
    [401, {}, "", { kind: "account_refused", code: "http_401" }],
    [402, {}, "", { kind: "account_refused", code: "http_402" }],
    [403, {}, "", { kind: "forbidden", code: "http_403" }],
    [404, {}, "", { kind: "rejected", code: "http_404" }],
    [408, {}, "", { kind: "unknown", code: "http_408" }],
    [409, {}, "", { kind: "unknown", code: "http_409" }],
    [422, {}, "", { kind: "rejected", code: "http_422" }],
    [429, {}, "", { kind: "not_placed", code: "http_429" }],
    [
      429,
      { "retry-after": "7" },
      "",
      { kind: "not_placed", code: "http_429", retryAfterSeconds: 7 },
    ],
    [429, { "retry-after": "soon" }, "", { kind: "not_placed", code: "http_429" }],
    [429, { "retry-after": "0" }, "", { kind: "not_placed", code: "http_429" }],
    [429, { "retry-after": "-1" }, "", { kind: "not_placed", code: "http_429" }],
    [429, { "retry-after": "1.5" }, "", { kind: "not_placed", code: "http_429" }],
    [
      429,
      { "retry-after": "Fri, 20 Nov 2026 12:00:00 GMT" },
      "",
      { kind: "not_placed", code: "http_429" },
    ],
    [503, { "retry-after": "0" }, "", { kind: "not_placed", code: "http_503" }],
    [599, {}, "", { kind: "unknown", code: "http_599" }],
  ])(
    "that answers %i %j %.20s is %j, after one request",
    inSlowTier,
    async (status, headers, body, outcome) => {
      const receiver = await startTestReceiver((_request, response) => {
        response.writeHead(status, headers).end(body);
      });
      expect(await dial(`${receiver.url}/dial`)).toEqual(outcome);
      expect(receiver.received).toHaveLength(1);
    },
  );

  it.each(webhookAnswers)("that answers $status $says is $outcome", async (answer) => {
    const { status, headers = {}, body, outcome } = answer;
    const receiver = await startTestReceiver((_request, response) => {
      response.writeHead(status, headers);
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
    expect(await dial(`${receiver.url}/dial`)).toEqual(outcome);
    expect(receiver.received).toHaveLength(1);
  });

  it("says that nobody was phoned for the listed statuses alone, whatever the body", async () => {
    const listed = new Set([400, 401, 402, 404, 422, 429, 503]);
    const route = {
      account: toAccountName("webhook"),
      provider: "webhook",
      url: "https://example.com/",
    } as const;
    for (let status = 200; status <= 599; status++) {
      for (const text of ["", '{"id":"CA1"}', '{"code":429,"error":"not placed"}']) {
        const body = [204, 205, 304].includes(status) ? null : text;
        const headers = { "retry-after": "7" };
        const send = async () => new Response(body, { status, headers });
        const options = { environment: {}, fetch: send, now: Date.now, print: () => undefined };
        const provider = createProviders(options, [])(route);
        const outcome = await provider.dial(
          { call, attempt: 1, timeoutSeconds: patientSeconds, guarded: (own) => own },
          route,
        );
        expect([status, saysNotPlaced(outcome)]).toEqual([status, listed.has(status)]);
      }
    }
  });

  it("takes Retry-After as a date", async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const receiver = await startTestReceiver((_request, response) => {
      response.writeHead(429, { "retry-after": date }).end();
    });
    const outcome = await dial(`${receiver.url}/dial`, {}, 30);
    const seconds = outcome.kind === "not_placed" ? (outcome.retryAfterSeconds ?? 0) : 0;
    expect(seconds).toBeGreaterThan(55);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  it("is unknown after a time-out, a reset, a broken answer; each after one request", async () => {
    const hangs = await startTestReceiver(() => undefined);
    expect(await dial(`${hangs.url}/dial`, {}, 1)).toEqual({ kind: "unknown", code: "time_out" });
    const resets = await startTestReceiver((_request, response) =>
      response.socket?.resetAndDestroy(),
    );
    expect(await dial(`${resets.url}/dial`)).toEqual({
      kind: "unknown",
      code: "connection_broken",
    });
    const closes = await startTestReceiver((_request, response) => response.socket?.end());
    expect(await dial(`${closes.url}/dial`)).toEqual({
      kind: "unknown",
      code: "connection_broken",
    });
    const garbage = await startTestReceiver((_request, response) => {
      response.socket?.end("this is no HTTP\r\n\r\n");
    });
    expect(await dial(`${garbage.url}/dial`)).toEqual({
      kind: "unknown",
      code: "connection_broken",
    });
    const counts = [hangs, resets, closes, garbage].map(({ received }) => received.length);
    expect(counts).toEqual([1, 1, 1, 1]);
  });

  it("is placed by a 200 whose body breaks off or is 10 MB long", async () => {
    const breaksOff = await startTestReceiver((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("{", () => response.socket?.end());
    });
    const long = await startTestReceiver((_request, response) => {
      response.writeHead(200).end("x".repeat(10_000_000));
    });
    for (const { url } of [breaksOff, long]) {
      expect(await dial(`${url}/dial`)).toEqual({ kind: "placed" });
    }
  });

  it("is placed by a 200 whose body never ends", inSlowTier, async () => {
    const neverEnds = await startTestReceiver((_request, response) => {
      response.writeHead(200).write("{");
    });
    // The status has these seconds too.
    expect(await dial(`${neverEnds.url}/dial`, {}, 15)).toEqual({ kind: "placed" });
  });

  it("is surely not placed where nobody listens, and where the host has no address", async () => {
    const port = await freePort();
    expect(await dial(`http://127.0.0.1:${port}/`)).toEqual({
      kind: "not_placed",
      code: "econnrefused",
      unreachable: true,
    });
    const outcome = await dial("https://no-such-host.invalid/");
    expect(outcome).toMatchObject({ kind: "not_placed" });
  });

  /** Dials through a fetch that fails as Node's does. */
  async function dialFailing(cause: Error) {
    const send = async () => {
      throw new TypeError("fetch failed", { cause });
    };
    const route = {
      account: toAccountName("webhook"),
      provider: "webhook",
      url: "https://example.com/",
    } as const;
    const options = { environment: {}, fetch: send, now: Date.now, print: () => undefined };
    const provider = createProviders(options, [])(route);
    return provider.dial(
      { call, attempt: 1, timeoutSeconds: patientSeconds, guarded: (own) => own },
      route,
    );
  }
  const failure = (code: string, syscall?: string) =>
    Object.assign(new Error("with +12025550123 in its message"), { code, syscall });

  it.each([
    failure("ECONNREFUSED", "connect"),
    failure("EHOSTUNREACH", "connect"),
    failure("ENETUNREACH", "connect"),
    failure("ENOTFOUND", "getaddrinfo"),
    failure("EAI_AGAIN", "getaddrinfo"),
    failure("ETIMEDOUT", "connect"),
    failure("CONNECT_TIMEOUT"),
    failure("CERT_HAS_EXPIRED"),
    failure("ERR_TLS_CERT_ALTNAME_INVALID"),
    Object.assign(
      new AggregateError([failure("ECONNREFUSED", "connect"), failure("ETIMEDOUT", "connect")]),
      { code: "ECONNREFUSED" },
    ),
  ])("is surely not placed after $code of $syscall", async (cause) => {
    const code = cause.code.toLowerCase();
    expect(await dialFailing(cause)).toEqual({ kind: "not_placed", code, unreachable: true });
  });

  it.each([
    failure("EHOSTUNREACH", "read"), // the soft error of a connection that stood
    failure("ENETUNREACH", "write"),
    failure("ECONNREFUSED"),
    failure("ECONNRESET", "read"),
    failure("ETIMEDOUT", "read"),
    failure("UND_ERR_SOCKET"),
    Object.assign(
      new AggregateError([failure("EHOSTUNREACH", "connect"), failure("EHOSTUNREACH", "read")]),
      { code: "EHOSTUNREACH" },
    ),
    Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }),
  ])("is unknown after $code of $syscall", async (cause) => {
    expect(await dialFailing(cause)).toEqual({ kind: "unknown", code: "connection_broken" });
  });

  it("is unknown where a connection is taken and dropped before anything was read", async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => new Promise((closed) => server.close(() => closed())));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    expect(await dial(`http://127.0.0.1:${port}/`)).toEqual({
      kind: "unknown",
      code: "connection_broken",
    });
  });

  it.each(["secret", "whsec_", "whsec_AAAA", `whsec_${"A".repeat(120)}`])(
    "refuses the secret %s",
    (secret) => {
      const environment = { EU_HOOK_SECRET: secret };
      const options = { environment, fetch, now: Date.now, print: () => undefined };
      const route = {
        account: toAccountName("eu-hook"),
        provider: "webhook",
        url: "https://example.com/",
      } as const;
      expect(() => createProviders(options, [route])).toThrow(/^the secret of eu-hook must be/);
    },
  );
});

describe("the simulator", () => {
  it("prints who would be called, but for two digits, and nothing of the context", async () => {
    const lines: string[] = [];
    const route = { account: toAccountName("simulator"), provider: "simulator" } as const;
    const outcome = await dialAlong(route, { print: (line) => void lines.push(line) });
    expect(outcome).toMatchObject({ kind: "placed" });
    expect(lines).toEqual([
      `simulator: would dial +•••••••••23 for agent agent_sales (${call.id})`,
    ]);
  });
});
