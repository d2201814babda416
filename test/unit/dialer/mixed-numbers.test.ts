import { describe, expect, it } from "vitest";
import { createCalls } from "#infra/stand-ins/calls.ts";
import { telnyx } from "#infra/stand-ins/telnyx.ts";
import { toCallId } from "#shared/calls/ids.ts";
import * as z from "#shared/lib/zod.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { allIn, callsNow, request, rowOf, statesOf } from "#test/support/dialer-calls.ts";
import { environmentOf, forbiddenNumber, routeFields } from "#test/support/stand-ins.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const plan = {
  agents: { agent_sales: { provider: "telnyx", ...routeFields["telnyx"] } },
  providers: { telnyx: { callsPerSecond: 1 } },
};

/**
 * Returns a fetch that the stand-in of Telnyx answers in this process, as a network would take real time and
 * the bench's clock is its own. Numbers that end in an odd digit are forbidden.
 */
function createTelnyx(now: () => number) {
  const calls = createCalls(now);
  const settings = {
    hasAgent: true,
    hasLine: true,
    ringSeconds: 2,
    talkSeconds: 5,
    callBackSeconds: 120,
  };
  const { endpoints } = telnyx.create({ calls, secrets: telnyx.secrets, now, settings });
  const sent: string[] = [];
  const send: typeof fetch = async (input, init = {}) => {
    const { pathname: path, searchParams: query } = new URL(new Request(input).url);
    const { method = "GET", body } = init;
    const text = typeof body === "string" ? body : "";
    const headers = Object.fromEntries(new Headers(init.headers));
    const one = endpoints.find((each) => each.method === method && each.path.test(path));
    const read = one?.read({ method, path, query, headers, text });
    if (read === undefined || "problem" in read) throw new Error("no such request");
    const number = toSchema.parse(JSON.parse(text)).to;
    sent.push(number);
    const { status, body: answer } = isOdd(number) ? forbiddenNumber : read.perform();
    return Response.json(answer, { status });
  };
  return { calls, sent, send };
}

const toSchema = z.object({ to: z.string() });
const isOdd = (number: string) => Number(number.at(-1)) % 2 === 1;

describe("a list in which the provider forbids every other number", () => {
  it(
    "has the permitted ones dialed at the account's pace, and each sent once",
    inSlowTier,
    async () => {
      const bench = createDialerBench({ plan });
      const { calls: taken, sent, send } = createTelnyx(bench.now);
      const { settings } = bench.deps;
      const providerOf = createProviders(
        {
          environment: environmentOf("telnyx", telnyx.secrets),
          fetch: send,
          now: bench.now,
          print: () => undefined,
        },
        [],
      );
      bench.deps.settings = { ...settings, providerOf };
      const acceptedAt = bench.now();
      const requestId = aRequestId(acceptedAt);
      const calls = callsNow(bench, 20).map((call, index) => ({
        ...call,
        requestId,
        id: toCallId(requestId, index),
      }));
      await bench.send(request(calls));
      await bench.simulate(60);
      const permitted = calls.filter(({ request: { phone_number } }) => !isOdd(phone_number));
      const forbidden = calls.filter(({ request: { phone_number } }) => isOdd(phone_number));
      expect([permitted.length, forbidden.length]).toEqual([10, 10]);
      expect(await statesOf(bench, permitted)).toEqual(allIn(permitted, "PLACED"));
      expect(await statesOf(bench, forbidden)).toEqual(allIn(forbidden, "REJECTED"));
      for (const call of forbidden) {
        expect(await rowOf(bench, call)).toMatchObject({ reason: "telnyx_d13" });
      }
      expect(sent.toSorted()).toEqual(calls.map((one) => one.request.phone_number).toSorted());
      const times = taken.placed.map(({ at }) => at - acceptedAt);
      expect(times).toHaveLength(10);
      for (const [index, time] of times.slice(1).entries()) {
        expect(time - (times[index] ?? 0)).toBeGreaterThanOrEqual(1000);
      }
      expect(bench.eventsOf("breaker.opened")).toEqual([]);
    },
  );
});
