/** workerd refuses here what Cloudflare refuses there, and the adapters count what it does not. */
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import api from "#functions/api/cloudflare.ts";
import dialer from "#functions/dialer/cloudflare.ts";
import {
  asInvocation,
  connectionsMax,
  d1StatementsMax,
  sendBySubrequest,
  statementsAtOnceMax,
  statementsLeft,
  subrequest,
  subrequestsLeft,
  subrequestsMax,
} from "#shared/cloudflare/invocation.ts";
import { type OutgoingRequest, Withheld } from "#shared/lib/http-client.ts";
import { createTokenLimit } from "#shared/cloudflare/token-limit.ts";
import { workerLog } from "#shared/lib/log.ts";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { toJson } from "#shared/ports/call-messages.ts";
import { aCall, toCallsMessage } from "../support/calls.ts";
import { testPlan, tokens } from "../support/environment.ts";
import { testEnv } from "./env.ts";
import { createApi } from "./worker-api.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const { LEDGER } = testEnv;

// https://developers.cloudflare.com/d1/platform/limits/
describe("D1", () => {
  it("is asked for documents whose names are megabytes by several statements, each within its 2 MB", async () => {
    const documents = createD1Documents(LEDGER, { now: Date.now, freshVersion: randomVersion });
    const names = Array.from({ length: 2_500 }, (_, n) => ({
      kind: "pause" as const,
      key: `agent ${String(n).padStart(1_000, "0")}`,
    }));
    const value = { of: { agent: "a" }, at: 1, by: "ops" };
    const last = { ...names[2_499], version: randomVersion(), value, expiresAt: null };
    await documents.write([{ next: { kind: "pause", key: "", ...last }, seen: null }]);
    await asInvocation(async () => {
      const read = await documents.read(names);
      expect(read.get("pause", last.key ?? "")?.value).toEqual(value);
      expect(d1StatementsMax - statementsLeft()).toBe(7);
    });
    const removals = names.map((name) => ({ ...name, seen: "x" }));
    await expect(documents.remove(removals)).rejects.toThrow(/takes no value of 2/);
  });

  it("takes 100 parameters of a statement, and refuses 101", async () => {
    const ask = (count: number) => {
      const names = Array.from({ length: count }, (_, n) => `?${n + 1}`);
      return LEDGER.prepare(`SELECT ${names.join()}`)
        .bind(...names)
        .all();
    };
    expect((await ask(100)).success).toBe(true);
    await expect(ask(101)).rejects.toThrow(/variable/);
  });
});

describe("an invocation", () => {
  const documents = createD1Documents(LEDGER, { now: Date.now, freshVersion: randomVersion });
  const read = () => documents.read([{ kind: "sweep", key: "sweep" }]);

  it("sends a thousand statements, each of a batch counted, and no more", inSlowTier, async () => {
    await asInvocation(async () => {
      const name = { kind: "pause", key: "agent a" } as const;
      const value = { of: { agent: "a" }, at: 1, by: "ops" };
      const next = { ...name, version: randomVersion(), value, expiresAt: null };
      await documents.write([{ next, seen: null }]);
      await documents.write([
        { next: { ...next, version: randomVersion() }, seen: next.version },
        { next: { ...next, key: "agent b" }, seen: null },
      ]);
      expect(statementsLeft()).toBe(d1StatementsMax - 3);
      while (statementsLeft() > 0) await read();
      await expect(read()).rejects.toThrow("more than 1000 statements");
    });
    expect((await read()).get("sweep", "sweep")).toBeUndefined(); // outside of any, none count
  });

  it("writes no row that D1 would refuse for its size, nor others beside it", async () => {
    const entryOf = (key: string, bytes: number) => ({
      next: {
        kind: "cap" as const,
        key,
        version: randomVersion(),
        value: { entries: [{ call: "x".repeat(bytes), claim: "v", at: 1 }] },
        expiresAt: null,
      },
      seen: null,
    });
    expect(await documents.write([entryOf("large", 1_900_000)])).toEqual([true]);
    const write = documents.write([entryOf("small", 1), entryOf("larger", 2_000_000)]);
    await expect(write).rejects.toThrow("D1 takes no row of");
    const stored = await documents.read([{ kind: "cap", key: "small" }]);
    expect(stored.get("cap", "small")).toBeUndefined();
  });

  it("counts its own alone", async () => {
    const left = () =>
      asInvocation(async () => {
        await read();
        await read();
        return statementsLeft();
      });
    expect(await Promise.all([left(), left()])).toEqual([998, 998]);
  });
});

// https://developers.cloudflare.com/workers/platform/limits/
describe("the subrequests of an invocation", () => {
  const answer = async () => "answer";
  /** Starts subrequests that get their headers when they are told to. */
  function start(count: number) {
    const sent: (() => void)[] = [];
    const all = Array.from({ length: count }, () =>
      subrequest(() => new Promise<void>((resolve) => sent.push(resolve))),
    );
    return { sent, all };
  }
  const turns = () => new Promise((next) => setTimeout(next, 0));

  it("are ten thousand, and no more", async () => {
    await asInvocation(async () => {
      for (let n = 0; n < subrequestsMax; n++) await subrequest(answer);
      expect(subrequestsLeft()).toBe(0);
      await expect(subrequest(answer)).rejects.toThrow("more than 10000 subrequests");
    });
    expect(await subrequest(answer)).toBe("answer"); // outside of any, none count
  });

  it("limit the statements that are left to the subrequests that are left", async () => {
    await asInvocation(async () => {
      for (let n = 0; n < subrequestsMax - 7; n++) await subrequest(answer);
      expect(statementsLeft()).toBe(7);
    });
  });

  it("run six at once; the next starts when one of them has its headers", async () => {
    await asInvocation(async () => {
      const { sent, all } = start(9);
      await turns();
      expect(sent).toHaveLength(6);
      sent[3]?.();
      await all[3];
      await turns();
      expect(sent).toHaveLength(7);
      for (let n = 0; n < 9; n++) {
        sent[n]?.();
        await turns();
      }
      await Promise.all(all);
      expect(start(6).sent).toHaveLength(6); // all connections are free again
    });
  });

  it("do not delay those of another invocation", async () => {
    asInvocation(() => start(8));
    const { sent } = asInvocation(() => start(6));
    await turns();
    expect(sent).toHaveLength(6);
  });

  it("continue after a failed one", async () => {
    await asInvocation(async () => {
      for (let n = 0; n < 10; n++) {
        await expect(subrequest(() => Promise.reject(new Error("reset")))).rejects.toThrow("reset");
      }
      expect(await subrequest(answer)).toBe("answer");
    });
  });

  it("stop waiting when their signal aborts, and are then not sent", async () => {
    await asInvocation(async () => {
      const { sent, all } = start(6);
      await turns();
      const late = new AbortController();
      const send = vi.fn<() => Promise<void>>();
      const { signal } = late;
      const waiting = subrequest(send, { signal });
      late.abort(new Error("late"));
      await expect(waiting).rejects.toThrow("late");
      await expect(subrequest(send, { signal })).rejects.toThrow("late");
      for (const resolve of sent) resolve();
      await Promise.all(all);
      await turns();
      expect(send).not.toHaveBeenCalled();
      expect(start(6).sent).toHaveLength(6);
    });
  });
});

describe("statements that hang", () => {
  const isStatement = true;
  const hang = () => subrequest(() => new Promise<never>(() => undefined), { isStatement });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("leave a connection to the queue, and take it from nobody who waits for one", async () => {
    await asInvocation(async () => {
      for (let n = 0; n < 8; n++) hang().catch(() => undefined);
      const sent: (() => void)[] = [];
      const send = () => subrequest(() => new Promise<void>((resolve) => sent.push(resolve)));
      const all = [send(), send()];
      expect(sent).toHaveLength(1);
      sent[0]?.();
      await all[0];
      await vi.waitFor(() => expect(sent).toHaveLength(2));
    });
  });

  it("are not followed by those whose askers have given up", async () => {
    vi.useFakeTimers();
    await asInvocation(async () => {
      const ends: (() => void)[] = [];
      for (let n = 0; n < statementsAtOnceMax; n++) {
        void subrequest(() => new Promise<void>((end) => ends.push(end)), { isStatement });
      }
      const send = vi.fn<() => Promise<void>>();
      const refused = expect(subrequest(send, { isStatement })).rejects.toThrow(/in time/);
      await vi.advanceTimersByTimeAsync(5_000);
      await refused;
      for (const end of ends) end();
      await vi.advanceTimersByTimeAsync(1);
      expect(send).not.toHaveBeenCalled();
      expect(await subrequest(async () => "answer", { isStatement })).toBe("answer");
    });
  });
});

describe("a request to a provider that waits for a connection", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  /** Sends a request while all connections are taken, which `end` gives back. */
  function sendLate(more: Partial<OutgoingRequest>) {
    const sent = vi.fn(async () => new Response("sent"));
    vi.stubGlobal("fetch", sent);
    const ends: (() => void)[] = [];
    for (let n = 0; n < connectionsMax; n++) {
      void subrequest(() => new Promise<void>((end) => ends.push(end)));
    }
    const { signal } = new AbortController();
    const answer = sendBySubrequest("https://example.com/dial", {
      headers: {},
      redirect: "manual",
      signal,
      ...more,
    });
    return { sent, answer, end: () => ends[0]?.() };
  }

  it("does not leave if it may not any more once it has one", async () => {
    await asInvocation(async () => {
      let isOpen = true;
      const { sent, answer, end } = sendLate({ mayLeave: () => isOpen });
      isOpen = false; // such as the callee's hours
      end();
      await expect(answer).rejects.toThrow(Withheld);
      expect(sent).not.toHaveBeenCalled();
    });
  });

  it("is known not to have left if its time is over before", async () => {
    await asInvocation(async () => {
      const late = new AbortController();
      const { signal } = late;
      const { sent, answer } = sendLate({ mayLeave: () => true, signal });
      late.abort(new Error("timeout"));
      await expect(answer).rejects.toThrow(Withheld);
      const other = sendLate({ signal: AbortSignal.abort(new Error("timeout")) });
      await expect(other.answer).rejects.toThrow("timeout");
      expect(sent).not.toHaveBeenCalled();
    });
  });

  it("does not leave with a permit that is seconds old", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    await asInvocation(async () => {
      const { sent, answer, end } = sendLate({ mayLeave: () => true });
      const refused = expect(answer).rejects.toThrow(Withheld);
      await vi.advanceTimersByTimeAsync(2_001);
      end();
      await refused;
      expect(sent).not.toHaveBeenCalled();
    });
  });

  it("leaves if it still may", async () => {
    await asInvocation(async () => {
      const { answer, end } = sendLate({ mayLeave: () => true });
      end();
      expect(await (await answer).text()).toBe("sent");
    });
  });
});

describe("the Workers count", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  /** The environment with a plan that needs no secrets. */
  const dialerEnv = Object.assign({ ...testEnv }, { DIAL_PLAN: JSON.stringify(testPlan) });
  /** Counts the subrequests that are under way: as many as hold none of six others back. */
  function countOpen(): number {
    const { promise, resolve } = Promise.withResolvers<void>();
    let free = 0;
    for (let n = 0; n < connectionsMax; n++) {
      void subrequest(() => {
        free += 1;
        return promise;
      });
    }
    resolve();
    return connectionsMax - free;
  }
  /** Notes at each call of a binding's method how many subrequests are under way. */
  function noting<Binding extends object>(binding: Binding, method: keyof Binding & string) {
    const opened: number[] = [];
    const original: unknown = Reflect.get(binding, method);
    const note = (...values: unknown[]): unknown => {
      opened.push(countOpen());
      return typeof original === "function" ? Reflect.apply(original, binding, values) : undefined;
    };
    Object.defineProperty(binding, method, { value: note, configurable: true });
    // oxlint-disable-next-line vitest/require-hook -- the method is the prototype's own again
    return { opened, [Symbol.dispose]: () => void Reflect.deleteProperty(binding, method) };
  }
  /** Delivers one message to a Worker, and tells if it was acknowledged. */
  async function deliver(name: string, body: string, to: Required<Pick<typeof api, "queue">>) {
    const ack = vi.fn<() => void>();
    const message = { id: "own", timestamp: new Date(), attempts: 1, body, ack, retry() {} };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a batch has more that no handler reads
    const batch = { queue: name, messages: [message] } as unknown as MessageBatch;
    await to.queue(batch, dialerEnv);
    return ack.mock.calls.length === 1;
  }

  it("what the dialer asks of R2 and of providers", async () => {
    const dialed: number[] = [];
    vi.stubGlobal("fetch", async () => {
      dialed.push(countOpen());
      return Response.json({ id: "placed" }, { status: 201 });
    });
    using read = noting(testEnv.ENVELOPES, "get");
    const call = aCall({ acceptedAt: Date.now() });
    await testEnv.ENVELOPES.put("messages/own", toJson(toCallsMessage([call])));
    const claimCheck = JSON.stringify({ kind: "claim_check", key: "messages/own" });
    expect(await deliver("outbound-calls", claimCheck, dialer)).toBe(true);
    // Its account has dialed nothing yet, so that the call waits for its turn.
    const turn = {
      kind: "dispatch",
      rows: [{ id: call.id, account: "webhook:http://127.0.0.1:9" }],
    };
    expect(await deliver("outbound-calls", toJson(turn), dialer)).toBe(true);
    expect([read.opened, dialed]).toEqual([[1], [1]]);
  });

  it("what the dialer's crons ask of R2", async () => {
    using listed = noting(testEnv.ENVELOPES, "list");
    const event = { cron: "0-59 * * * *", scheduledTime: Date.now(), noRetry() {} };
    await dialer.scheduled(event, dialerEnv);
    expect(listed.opened[0]).toBe(1); // before anything else is asked
  });

  it("what the API asks of the queues, of assets and of R2", async () => {
    using sent = noting(testEnv.CALLS, "send");
    using served = noting(testEnv.ASSETS, "fetch");
    using kept = noting(testEnv.ENVELOPES, "put");
    const { request, queued } = createApi();
    const { phone_number, agent_id } = aCall().request;
    const answer = await request("/v1/calls", {
      method: "POST",
      headers: { Authorization: `Bearer ${tokens.crm}`, "Content-Type": "application/json" },
      body: JSON.stringify({ phone_number, agent_id, timezone: "UTC" }),
    });
    expect(answer.status).toBe(201);
    await queued(1);
    expect((await request("/docs")).status).toBe(200);
    expect(await deliver("outbound-calls-dead", "a letter", api)).toBe(true);
    await testEnv.ENVELOPES.delete("dead-letters/calls-own");
    expect([sent.opened, served.opened, kept.opened]).toEqual([[1], [1], [1]]);
  });
});

describe("a Worker's log", () => {
  afterEach(() => vi.restoreAllMocks());

  it("writes alarms as errors and every other event as output, one JSON line each", () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const output = vi.spyOn(console, "log").mockImplementation(() => undefined);
    workerLog("alarm", "queue.unreachable", { code: "full" });
    workerLog("warning", "call.deferred", {});
    workerLog("info", "call.dialed", { count: 1 });
    const events = (spy: typeof error) =>
      spy.mock.calls.map(([line]) => /"event":"([\w.]+)"/.exec(String(line))?.[1]);
    expect(events(error)).toEqual(["queue.unreachable"]);
    expect(events(output)).toEqual(["call.deferred", "call.dialed"]);
  });
});

it("the platform's limit counts the requests of each token by itself", async () => {
  const limit = createTokenLimit(testEnv.TEST_LIMIT);
  const asked = async (tokenId: string) => limit?.(tokenId);
  const first = [];
  for (let n = 0; n < 5; n++) first.push(await asked("crm-1"));
  expect(first).toEqual([true, true, true, false, false]);
  expect(await asked("crm-2")).toBe(true);
  expect(createTokenLimit(undefined)).toBeUndefined();
});
