import * as fc from "fast-check";
import { expect, it } from "vitest";
import { clientReceiverName } from "#shared/ports/receiver-kinds.ts";
import type { Bench } from "#test/support/dialer-calls.ts";
import { deliverFor, failed, taken, toldTo } from "#test/support/events-bench.ts";
import {
  createClientReceiverBench,
  placeFor,
  setReceivers,
} from "#test/support/client-receivers-bench.ts";
import { completed } from "#test/support/results-bench.ts";
import { perTier } from "#test/support/per-tier.ts";

const types = ["call.placed", "call.ended", "request.finished"] as const;
const clients = { crm: ["main", "other"], shop: ["main"] };

/** Has writes of a port fail at random, before or after they took effect, as if the function had died then. */
function breakWrites(bench: Bench, isBroken: () => boolean): () => void {
  const fail = async (): Promise<never> => Promise.reject(new Error("the function died"));
  const dying =
    <Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      if (isBroken()) return fail();
      const result = await work(...args);
      return isBroken() ? fail() : result;
    };
  const { documents, eventsQueue } = bench.deps;
  const whole = { write: documents.write, sendMany: eventsQueue.sendMany };
  bench.breakLedger({
    write: dying((changes) => bench.rows.write(changes)),
    read: dying((ids) => bench.rows.read(ids)),
  });
  documents.write = dying(whole.write);
  eventsQueue.sendMany = dying(whole.sendMany);
  return () => {
    bench.repairLedger();
    documents.write = whole.write;
    eventsQueue.sendMany = whole.sendMany;
  };
}

it("gives each own receiver each of its events, and none of another client's, whatever dies", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.constantFrom(2, 4, 8), async (seed, oneIn) => {
      let state = seed;
      const isBroken = () => {
        state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
        return ((state >>> 8) & (oneIn - 1)) === 0;
      };
      const bench = createClientReceiverBench(toldTo({ types: [...types] }));
      for (const [client, names] of Object.entries(clients)) {
        const entries = names.map((name) => [name, { types: [...types] }]);
        await setReceivers(bench, client, Object.fromEntries(entries));
      }
      const calls = [...(await placeFor(bench, "crm", 3)), ...(await placeFor(bench, "shop", 2))];
      bench.record = async () => completed;
      const fix = breakWrites(bench, isBroken);
      bench.receive = async () => (isBroken() ? failed : taken);
      await deliverFor(bench, 40);
      fix();
      bench.receive = async () => taken;
      await deliverFor(bench, 200);
      const of = new Map<string, Set<string>>();
      const bodies = new Map<string, string>();
      for (const { receiver, id, body } of bench.posted) {
        of.set(receiver, (of.get(receiver) ?? new Set()).add(id));
        // Every try of an event is the same.
        const text = JSON.stringify(body);
        const key = `${receiver} ${id}`;
        expect(bodies.get(key) ?? text).toBe(text);
        bodies.set(key, text);
      }
      const idsOf = (client: string) =>
        calls
          .filter((call) => call.client === client)
          .flatMap(({ id, requestId }) => [`${id}.1`, `${id}.2`, `${requestId}.finished`])
          .toSorted();
      for (const [client, names] of Object.entries(clients)) {
        for (const name of names) {
          const got = [...(of.get(clientReceiverName({ client, name })) ?? [])].toSorted();
          expect(got).toEqual(idsOf(client));
        }
      }
      expect([...(of.get("*") ?? [])].toSorted()).toEqual(
        [...idsOf("crm"), ...idsOf("shop")].toSorted(),
      );
      const { rows } = await bench.rows.list({ all: true, limit: 100 });
      expect(
        rows.filter(
          ({ clientReceiverTo, deliverTo }) => (clientReceiverTo ?? deliverTo ?? null) !== null,
        ),
      ).toEqual([]);
    }),
    { numRuns: perTier({ quick: 2, long: 6 }) },
  );
});
