import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  callbackAddress,
  callbackCheck,
  type CallbackSubject,
  readPublicUrl,
} from "#shared/settings/callback-url.ts";
import { createSignatureHeaders, parseSigningKey } from "#shared/lib/standard-webhooks.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { createApp } from "#functions/api/app.ts";
import { createTestApi } from "#test/support/api.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { message } from "#test/support/dialer-calls.ts";
import { aCall } from "#test/support/calls.ts";
import { apiEnvironment, testPlan, webhookSecret } from "#test/support/environment.ts";

const hashKey = apiEnvironment.HASH_KEY;
const call = { id: "call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000", claim: "0123456789abcdef0123" };
const account = "twilio-eu";
const isRight = callbackCheck({ hashKeys: { current: hashKey } });
const codeOf = (subject: CallbackSubject, key = hashKey) =>
  callbackAddress("", { ...subject, hashKey: key })
    .split("/")
    .at(-1) ?? "";

describe("a callback address", () => {
  it("names the account, the call and its claim, and ends in a code of 22 characters", () => {
    const address = callbackAddress("https://a.example/p", { account, call, hashKey });
    const start = `https://a.example/p/callbacks/${account}/${call.id}/${call.claim}/`;
    expect(address.slice(0, start.length)).toBe(start);
    expect(address.slice(start.length)).toMatch(/^[\w-]{22}$/);
    expect(callbackAddress("https://a.example", { account, hashKey })).toMatch(
      /^https:\/\/a\.example\/callbacks\/twilio-eu\/[\w-]{22}$/,
    );
  });

  it("has a code that fits its own account, call, claim and key alone", () => {
    const subjects: CallbackSubject[] = [
      { account },
      { account, call },
      { account, call: { id: call.id, claim: "other" } },
      { account: "twilio", call },
      { account, call: { ...call, numberHash: "ab".repeat(20) } },
      { account: "a", call: { id: "b", claim: "c/d" } },
      { account: "a", call: { id: "b/c", claim: "d" } },
      { account: "a/b", call: { id: "c", claim: "d" } },
      { account: 'a","b","c' },
      { account: "a", call: { id: "b", claim: "c" } },
    ];
    for (const subject of subjects) {
      const right = subjects.filter((one) => isRight({ code: codeOf(subject), subject: one }));
      expect(right).toEqual([subject]);
      expect(isRight({ code: codeOf(subject, "6f".repeat(32)), subject })).toBe(false);
    }
    for (const code of ["", "A", "é".repeat(22), `${codeOf({ account })}A`]) {
      expect(isRight({ code, subject: { account } })).toBe(false);
    }
  });
});

describe("PUBLIC_URL", () => {
  it.each([
    [undefined, undefined],
    ["", undefined],
    ["https://calls.example.com", "https://calls.example.com"],
    ["https://calls.example.com/phone/", "https://calls.example.com/phone"],
    ["http://127.0.0.1:8787", "http://127.0.0.1:8787"],
  ])("%j is read as %j", (PUBLIC_URL, expected) => {
    expect(readPublicUrl({ PUBLIC_URL })).toBe(expected);
  });

  it.each([
    ["calls.example.com", /^PUBLIC_URL must be a URL/],
    ["http://calls.example.com", /^PUBLIC_URL must be https/],
    ["https://calls.example.com?a=1", /^PUBLIC_URL must not have a query or a fragment/],
    ["https://calls.example.com/#a", /^PUBLIC_URL must not have a query or a fragment/],
    ["https://ada@calls.example.com", /^PUBLIC_URL must not hold a user/],
    ["https://:secret@calls.example.com", /^PUBLIC_URL must not hold a user$/],
  ])("%j is refused: %s", (PUBLIC_URL, problem) => {
    expect(() => readPublicUrl({ PUBLIC_URL })).toThrow(problem);
    const { events } = createTestApi({ environment: { ...apiEnvironment, PUBLIC_URL } });
    expect(events).toMatchObject([{ event: "settings.invalid", level: "alarm" }]);
  });
});

describe("the callback door", () => {
  const path = callbackAddress("", { account, call, hashKey });
  const post = (app: ReturnType<typeof createApp>, to = path) =>
    app.request(to, { method: "POST", body: "CallSid=CA1" });

  it("costs one message, and a forged callback nothing: no message, no ledger, no line of the log", async () => {
    const { deps, events } = createTestApi();
    const used: PropertyKey[] = [];
    const counted = <Port extends object>(port: Port): Port =>
      new Proxy(port, {
        get(target, name, receiver) {
          used.push(name);
          return Reflect.get(target, name, receiver);
        },
      });
    const app = createApp({
      ...deps,
      queue: counted(deps.queue),
      eventsQueue: counted(deps.eventsQueue),
      ledger: counted(deps.ledger),
      documents: counted(deps.documents),
    });
    const forged = path.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    for (const wrong of [forged, `${path}A`, "/callbacks/x", path.replace(account, "gone")]) {
      const { status, body, headers } = await post(app, wrong);
      expect([status, body, [...headers]]).toEqual([404, null, []]);
    }
    expect([used, events]).toEqual([[], []]);
    expect((await post(app)).status).toBe(204);
    expect([used, events]).toEqual([["send"], []]);
  });

  it("does not read the body of a forged callback", async () => {
    const { app } = createTestApi();
    const body = new ReadableStream({ pull: () => expect.unreachable("the body was read") });
    const forged = path.replace(call.claim, "other");
    const init = { method: "POST", body, duplex: "half", highWaterMark: 0 };
    const { status } = await app.request(new Request(`https://api.test${forged}`, init), {});
    expect(status).toBe(404);
  });

  it("answers 503 with Retry-After where the queue does not take the callback", async () => {
    const { deps, events } = createTestApi();
    let sends = 0;
    const send = async () => {
      sends += 1;
      throw new Error("throttled");
    };
    const response = await post(createApp({ ...deps, eventsQueue: { ...deps.eventsQueue, send } }));
    expect([response.status, response.headers.get("retry-after"), sends]).toEqual([503, "30", 1]);
    expect(events).toMatchObject([{ level: "alarm", event: "queue.unreachable" }]);
  });

  it("takes a callback with the hash of a number", async () => {
    const { app } = createTestApi();
    const { numberHash } = hashNumber("+12025550123", hashKey);
    const address = callbackAddress("", { account, call: { ...call, numberHash }, hashKey });
    expect((await post(app, address)).status).toBe(204);
  });

  it("takes a callback whose body breaks off", async () => {
    const { app, eventsQueue } = createTestApi();
    const body = new ReadableStream({
      pull(controller) {
        controller.error(new Error("reset"));
      },
    });
    const init = { method: "POST", body, duplex: "half" };
    expect((await app.request(new Request(`https://api.test${path}`, init), {})).status).toBe(204);
    expect(eventsQueue.take()).toHaveLength(1);
  });

  it.each([
    ["of a signed callback", { account: "livekit", call }],
    ["of an account, which names the call", { account: "bland" }],
  ])("answers 503 where the body %s does not come in time", async (_, subject) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { app, eventsQueue, events } = createTestApi();
    const body = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from("{")) });
    const init = { method: "POST", body, duplex: "half" };
    const address = `https://api.test${callbackAddress("", { ...subject, hashKey })}`;
    const answering = app.request(new Request(address, init), {});
    await vi.advanceTimersByTimeAsync(6_000);
    const response = await answering;
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "30"]);
    expect(eventsQueue.take()).toEqual([]);
    expect(events).toMatchObject([{ level: "warning", event: "callback.slow" }]);
  });

  it.each([
    ["PUBLIC_URL", { PUBLIC_URL: undefined }],
    ["results in the dial plan", { DIAL_PLAN: JSON.stringify(testPlan) }],
  ])(
    "takes callbacks of calls that were placed before the settings lost %s",
    async (_, changes) => {
      const { app, eventsQueue } = createTestApi({
        environment: { ...apiEnvironment, ...changes },
      });
      expect((await post(app)).status).toBe(204);
      expect(eventsQueue.take()).toHaveLength(1);
      expect((await post(app, `${path}A`)).status).toBe(404);
    },
  );

  it("has them sent again while the settings are wrong", async () => {
    const environment = { ...apiEnvironment, HASH_KEY: undefined };
    const { app, eventsQueue } = createTestApi({ environment });
    const { status, headers } = await post(app);
    expect([status, headers.get("retry-after")]).toEqual([503, "60"]);
    expect(eventsQueue.take()).toEqual([]);
  });

  it("passes on a signed callback of an account that the plan has no longer, for the dialer to verify", async () => {
    const { app, eventsQueue } = createTestApi();
    const of = { account: "gone", call };
    const address = callbackAddress("", { ...of, hashKey });
    const headers = { "webhook-id": call.id, "webhook-signature": "v1,x" };
    const body = JSON.stringify({ status: "completed", opt_out: true });
    expect((await app.request(address, { method: "POST", body, headers })).status).toBe(204);
    expect((await post(app, address)).status).toBe(204);
    const bodies = await Promise.all(eventsQueue.take().map((one) => one.open()));
    expect(bodies.map((one) => JSON.parse(one))).toMatchObject([
      { kind: "callback", ...of, signed: { body, headers } },
      { kind: "callback", ...of },
    ]);
  });
});

describe("a webhook's callback", () => {
  const hourMs = 3_600_000;
  const url = "https://example.com/dial";
  const agents = {
    told: { provider: "webhook", url },
    local: { provider: "hook-local", url: "http://127.0.0.1:9/dial" },
    both: { provider: "hook-both", url: "http://127.0.0.1:9/dial" },
    far: { provider: "hook-both", url },
  };
  const providers = {
    "hook-local": { type: "webhook" },
    "hook-both": { type: "webhook" },
    former: { type: "webhook" },
  };
  const plan = JSON.stringify({ ...testPlan, agents, providers, results: {} });

  function createDoor({ secret = webhookSecret, now = Date.now } = {}) {
    const environment = { ...apiEnvironment, DIAL_PLAN: plan, WEBHOOK_SECRET: secret };
    const api = createTestApi({ environment, now });
    const tell = (body: string, headers: Record<string, string> = {}, of = "webhook") =>
      api.app.request(callbackAddress("", { account: of, call, hashKey }), {
        method: "POST",
        body,
        headers,
      });
    const sign = (body: string) =>
      createSignatureHeaders(
        { id: call.id, body },
        { keys: [parseSigningKey(webhookSecret, "the secret")], now: now() },
      );
    return { ...api, tell, sign };
  }
  const busy = '{"status":"busy"}';

  it("that is wrong is logged by what is wrong, with the call's id and no value", async () => {
    const { tell, sign, events } = createDoor();
    const wrong = '{"status":"+12025550123","seconds":-5}';
    expect((await tell(wrong, sign(wrong))).status).toBe(422);
    expect((await tell(busy, sign(wrong))).status).toBe(401);
    const of = { account: "webhook", call_id: call.id, request_id: expect.any(String) };
    expect(events).toMatchObject([
      { event: "callback.malformed", level: "warning", ...of },
      { event: "callback.unverified", level: "alarm", problem: "webhook-signature", ...of },
    ]);
    expect(JSON.stringify(events)).toMatch(
      /\/status must be one of .*\/seconds must not be negative/,
    );
    expect(JSON.stringify(events)).not.toMatch(/2025550123|-5/);
  });

  it("that does not verify raises an alarm at most once an hour", async () => {
    let at = Date.now();
    const { tell, events } = createDoor({ now: () => at });
    for (const step of [0, hourMs - 1, 1]) {
      at += step;
      await tell(busy);
    }
    expect(events.map((event) => Object(event).level)).toEqual(["alarm", "warning", "alarm"]);
  });

  it("to this machine need not be signed without a secret, and is read all the same", async () => {
    const { tell, eventsQueue } = createDoor();
    expect((await tell(busy, {}, "hook-local")).status).toBe(204);
    expect((await tell("{}", {}, "hook-local")).status).toBe(422);
    expect(eventsQueue.take()).toHaveLength(1);
  });

  it.each([
    ["of another host beside this machine", "hook-both", "HOOK_BOTH_SECRET is not set"],
    ["that no agent has any more", "former", "FORMER_SECRET is not set"],
  ])("of an account %s is to be sent again without a secret", async (_, of, problem) => {
    const { tell, eventsQueue, events } = createDoor();
    const response = await tell(busy, {}, of);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(events).toMatchObject([{ event: "settings.invalid", level: "alarm", problem }]);
    expect(eventsQueue.take()).toEqual([]);
  });

  it("is to be sent again where the secret is malformed, which is not quoted", async () => {
    const { tell, sign, events } = createDoor({ secret: "whsec_short" });
    expect((await tell(busy, sign(busy))).status).toBe(503);
    expect(events).toMatchObject([{ event: "settings.invalid", level: "alarm" }]);
    expect(JSON.stringify(events)).toContain("WEBHOOK_SECRET must be whsec_");
    expect(JSON.stringify(events)).not.toContain("whsec_short");
  });

  it("is refused at the address of a whole account, which names no call", async () => {
    const { app, sign } = createDoor();
    const to = callbackAddress("", { account: "webhook", hashKey });
    const response = await app.request(to, { method: "POST", body: busy, headers: sign(busy) });
    expect(response.status).toBe(401);
  });
});

describe("the dialer", () => {
  const publicUrl = "https://calls.example.com";

  it("gives providers an address that proves itself, by the claim under which it dials", async () => {
    const bench = createDialerBench({ plan: { results: {} } });
    bench.deps.settings.publicUrl = publicUrl;
    const one = aCall();
    await bench.send(message(one));
    await bench.deliver();
    const { claims: [claim = ""] = [], numberHash } = (await bench.row(one.id)) ?? {};
    const subject = { account: "webhook", call: { id: one.id, claim, numberHash }, hashKey };
    expect(bench.callbackUrls).toEqual([callbackAddress(publicUrl, subject)]);
  });

  it("repeats the address in a resend, which repeats the first request", async () => {
    const url = "https://example.com/dial";
    const agents = { agent_sales: { provider: "webhook", url, idempotent: true } };
    const bench = createDialerBench({ plan: { agents, results: {} } });
    bench.deps.settings.publicUrl = publicUrl;
    bench.answer = async () =>
      bench.dialed.length === 1 ? { kind: "unknown", code: "time_out" } : { kind: "placed" };
    await bench.send(message(aCall()));
    await bench.run(300);
    const [first, ...others] = bench.callbackUrls;
    expect(first).toContain(publicUrl);
    expect(others).toEqual([first]);
  });

  it.each([
    ["results", {}, publicUrl],
    ["PUBLIC_URL", { results: {} }, undefined],
  ])("gives none without %s", async (_, plan, url) => {
    const bench = createDialerBench({ plan });
    bench.deps.settings.publicUrl = url;
    await bench.send(message(aCall()));
    await bench.deliver();
    expect(bench.callbackUrls).toEqual([undefined]);
  });
});
