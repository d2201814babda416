import { consumeCalls, consumeEvents, dispatch, sweep, upkeep } from "#test/support/entries.ts";
import { readRow } from "#test/support/reads.ts";
import { beforeEach, describe, expect, it } from "vitest";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { testClientOf, toCallId, withCalls } from "#shared/calls/ids.ts";
import { parseDialPlan } from "../support/plans.ts";
import type { EventBody } from "#shared/events/outbox-rows.ts";
import { createRequestMessage, toJson } from "#shared/ports/call-messages.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { aCall } from "../support/calls.ts";
import { dialerParts, settingsUnder, type Stores } from "../support/dialer-parts.ts";
import { testPlan } from "../support/environment.ts";
import { type SandboxRow, sandboxTable } from "../support/sandbox-table.ts";

const startAt = Date.parse("2026-11-18T12:00:00Z");
const minute = 60_000;
const client = testClientOf("acme");

/** Describes how test calls end over a real ledger, under a plan that polls for no results and calls no American. */
export function describeSandbox(
  name: string,
  create: (now: () => number) => Promise<Stores>,
): void {
  describe(`the sandbox over ${name}`, () => {
    let bench: Awaited<ReturnType<typeof createBench>>;
    beforeEach(async () => {
      bench = await createBench(create);
    });

    it("does to each number what its table says, and its provider gets no request", async () => {
      for (const { digits } of sandboxTable) await bench.post(digits);
      await bench.pass(1, 1, 1, 1, 1, 1, 2, 5, 10, 20, 60, 150, 1, 1);
      const ended: SandboxRow[] = [];
      for (const { digits } of sandboxTable) ended.push(await bench.endOf(digits));
      expect(ended).toEqual(sandboxTable);
      expect(bench.requests).toEqual([]);
      expect(bench.posted.every(({ data }) => data["test"] === true)).toBe(true);
      expect(JSON.stringify(bench.posted)).not.toContain("test:");
    });
  });
}

/** Creates a dialer with the adapters of all providers over the ledger, whose clock the test moves. */
async function createBench(create: (now: () => number) => Promise<Stores>) {
  let now = startAt;
  const stores = await create(() => now);
  let timers: { at: number; wake(): void }[] = [];
  /** Runs work whose waits end at once, as the clock moves to the earliest of them when nothing else is under way. */
  async function run(work: Promise<unknown>): Promise<void> {
    const state = { ended: false };
    const end = () => (state.ended = true);
    work.then(end, end);
    while (!state.ended) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      const at = Math.min(...timers.map((timer) => timer.at));
      if (state.ended || !Number.isFinite(at)) continue;
      now = Math.max(now, at);
      const due = timers.filter((timer) => timer.at <= now);
      timers = timers.filter((timer) => timer.at > now);
      for (const { wake } of due) wake();
    }
    await work;
  }
  const requests: string[] = [];
  const posted: EventBody[] = [];
  const calls: string[] = [];
  const events: string[] = [];
  const put = (list: string[]) => ({
    send: async (one: unknown) => void list.push(toJson(one)),
    async sendMany(all: readonly { message: unknown }[]) {
      list.push(...all.map(({ message }) => toJson(message)));
      return all.length;
    },
  });
  const log: DialerDeps["log"] = () => undefined;
  const plan = parseDialPlan(
    {
      ...testPlan,
      providers: { webhook: { timeoutSeconds: 1 } },
      destinations: { allow: ["DE"] },
      events: { acme: { url: "http://127.0.0.1:9/events" } },
    },
    {},
  );
  const parts = dialerParts();
  const deps: DialerDeps = {
    ...parts,
    dispatcher: { ...parts.dispatcher, endsIdle: true },
    log,
    queue: put(calls),
    eventsQueue: put(events),
    ...stores,
    settings: {
      ...settingsUnder(plan, log),
      async postEvent(_receiver, { body }) {
        posted.push(JSON.parse(body));
        return { status: 204, text: "" };
      },
      providerOf: createProviders(
        {
          environment: {},
          now: () => now,
          print: (line) => void requests.push(line),
          async fetch(url) {
            requests.push(url);
            return new Response("{}");
          },
        },
        Object.values(plan.agents),
      ),
    },
    clock: {
      now: () => now,
      sleep(ms) {
        if (ms <= 0) return Promise.resolve();
        return new Promise((wake) => timers.push({ at: now + ms, wake }));
      },
    },
  };
  const ids = new Map<string, string>();
  const open = (text: string) => ({ attempt: 1, id: "message", open: async () => text });
  const deliver = async () => {
    for (const text of calls.splice(0)) await run(consumeCalls([open(text)], deps, now + 900_000));
  };
  return {
    requests,
    posted,
    /** Has a test call accepted, as the API does. */
    async post(digits: string): Promise<void> {
      const request = { phone_number: `+120255501${digits}`, agent_id: "agent_sales" };
      const requestId = withCalls(aCall({ acceptedAt: now }).requestId, 1);
      ids.set(digits, toCallId(requestId, 0));
      const text = JSON.stringify(request);
      const owner = { requestId, client, mode: "test" as const, acceptedAt: now };
      calls.push(toJson(createRequestMessage(owner, { text, isBatch: false })));
      await deliver();
    },
    /** Lets minutes pass, after each of these times with a sweep, a dispatcher, and the messages that they send. */
    async pass(...minutes: number[]): Promise<void> {
      for (const one of minutes) {
        now += one * minute;
        await run(sweep(deps, now + 120_000));
        await run(upkeep(deps, now + 120_000));
        await deliver();
        await run(dispatch(deps, now + 15_000));
        await deliver();
        for (let turn = 0; turn < 3; turn++) {
          const messages = events.splice(0).map(open);
          if (messages.length > 0) await run(consumeEvents(messages, deps, now + 120_000));
        }
      }
    },
    /** Returns how a call has ended, and its events in their order. */
    async endOf(digits: string): Promise<SandboxRow> {
      const id = ids.get(digits) ?? "";
      const row: CallRow | undefined = await readRow(deps.ledger, id);
      const own = posted.filter(({ data }) => data["id"] === id);
      const inOrder = own.toSorted(
        (a, b) => Number(a.data["sequence"]) - Number(b.data["sequence"]),
      );
      const { state = "", reason = "", result } = row ?? {};
      return {
        digits,
        state,
        reason,
        result: result?.status ?? "",
        events: inOrder.map(({ type }) => type),
      };
    },
  };
}
