import { describe, expect, it } from "vitest";
import { createAskCheck } from "#functions/dialer/runtime/ask-check.ts";
import { checksSchema } from "#shared/dial-plan/checks.ts";
import { findSignatureProblem, parseSigningKey } from "#shared/lib/standard-webhooks.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";

const secret = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
const question = { check: "crm", id: "check_1", body: '{"id":"call_1"}' };
/** Long, as a machine that does much else may answer late. */
const limitMs = 60_000;

const ask = (url: string, environment: Record<string, string> = {}, limit = limitMs) =>
  createAskCheck(
    { checks: checksSchema.parse({ crm: { url } }) },
    {
      environment,
      fetch,
      now: Date.now,
    },
  )({ ...question, url, limitMs: limit });

describe("asking a check", () => {
  it("posts the question signed, and reads the answer", async () => {
    const server = await startTestReceiver((_request, response) =>
      response.end('{"decision":"call","evidence":"consent 7"}'),
    );
    const answer = await ask(`${server.url}/check`, { CHECKS_CRM_SECRET: secret });
    expect(answer).toEqual({ decision: "call", evidence: "consent 7" });
    const [received] = server.received;
    expect(received).toMatchObject({ method: "POST", path: "/check", text: question.body });
    const headers = Object.fromEntries(
      Object.entries(received?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    );
    const key = parseSigningKey(secret, "the secret");
    const signed = { body: received?.text ?? "", headers, receivedAt: Date.now() };
    expect(findSignatureProblem(key, signed)).toBeUndefined();
    expect(findSignatureProblem(key, { ...signed, body: "{}" })).toBeDefined();
  });

  it("has failed when no answer comes in time, or only its beginning", async () => {
    const hanging = await startTestReceiver(() => undefined);
    expect(await ask(hanging.url, {}, 300)).toEqual({ decision: "failed", code: "time_out" });
    const begun = await startTestReceiver((_request, response) => {
      response.writeHead(200).write('{"decision":"call"');
    });
    expect(await ask(begun.url, {}, 300)).toMatchObject({ decision: "failed" });
  });

  it("has failed by an answer above 16 KiB, of which no more is read", async () => {
    const server = await startTestReceiver((_request, response) => {
      response.writeHead(200).write(`{"decision":"call","more":"${"x".repeat(40_000)}`);
    });
    const code = "answer_too_long";
    expect(await ask(server.url)).toEqual({ decision: "failed", code });
  });

  it("follows no redirect", async () => {
    const other = await startTestReceiver((_request, response) =>
      response.end('{"decision":"call"}'),
    );
    const server = await startTestReceiver((_request, response) =>
      response.writeHead(307, { location: other.url }).end(),
    );
    expect(await ask(server.url)).toEqual({ decision: "failed", code: "http_307" });
    expect(other.received).toEqual([]);
  });

  it("is refused with a malformed secret before anything is asked", () => {
    const checks = checksSchema.parse({ crm: { url: "https://crm.example.com/" } });
    const environment = { CHECKS_CRM_SECRET: "secret" };
    expect(() => createAskCheck({ checks }, { environment, fetch, now: Date.now })).toThrow(
      "CHECKS_CRM_SECRET must be whsec_",
    );
  });
});
