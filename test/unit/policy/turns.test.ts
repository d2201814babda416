import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backlogOfKey, waitingLaneOf } from "#shared/calls/call-row.ts";
import { createTurns } from "#shared/policy/turns.ts";

const waiting = fc.array(
  fc.record({
    client: fc.constantFrom("a", "b", "c", "d"),
    agentId: fc.constantFrom("x", "y", "z"),
    isUrgent: fc.boolean(),
  }),
  { minLength: 1, maxLength: 40 },
);
type Waiting = typeof waiting extends fc.Arbitrary<(infer One)[]> ? One : never;

/** Returns the backlogs of all items, in the order of their turns. */
function serve(items: readonly Waiting[]): string[] {
  const turns = createTurns<string>({ client: "b", agents: new Map([["a", "y"]]) });
  for (const one of items) turns.add(waitingLaneOf(one), [waitingLaneOf(one)]);
  return items.map(() => turns.next()?.item ?? "none");
}

describe("the turns of an account", () => {
  it("serve each client as often, and at the same places, however many of its items are urgent", () => {
    const clientsOf = (items: readonly Waiting[]) =>
      serve(items).map((backlog) => backlogOfKey(backlog).client);
    fc.assert(
      fc.property(waiting, (items) => {
        expect(clientsOf(items)).toEqual(
          clientsOf(items.map((one) => ({ ...one, isUrgent: false }))),
        );
      }),
      { numRuns: 100 },
    );
  });

  it("serve all urgent items of a client before its others", () => {
    fc.assert(
      fc.property(waiting, (items) => {
        const served = serve(items).map(backlogOfKey);
        for (const own of Map.groupBy(served, ({ client }) => client).values()) {
          const levels = own.map(({ isUrgent }) => isUrgent);
          expect(levels).toEqual(levels.toSorted((one, other) => Number(other) - Number(one)));
        }
      }),
      { numRuns: 100 },
    );
  });
});
