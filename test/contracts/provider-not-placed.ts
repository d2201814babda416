import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { type AnswerFixture, type ProviderBench, saysNotPlaced } from "./provider-bench.ts";
import { perTier } from "../support/per-tier.ts";

/** Statuses by which a request is refused before it acts, and the outcome that they have by themselves. */
const refused: ReadonlyMap<number, DialOutcome["kind"]> = new Map([
  [400, "rejected"],
  [401, "account_refused"],
  [402, "account_refused"],
  [403, "forbidden"],
  [404, "rejected"],
  [422, "rejected"],
  [429, "not_placed"],
]);

/** Makes answers of which many are almost documented: bodies and their leaves, in one another's places. */
function answersLike(fixtures: readonly AnswerFixture[]) {
  const leaves = fixtures.flatMap(({ body }) => leavesOf(body));
  const bodies = fixtures.map(({ body }) => body);
  const leaf = fc.oneof(
    fc.constantFrom(...leaves, ""),
    fc.string(),
    fc.integer({ min: 0, max: 99_999 }),
    fc.constant(null),
  );
  const mixed = fc
    .tuple(fc.constantFrom(...bodies, {}), fc.array(leaf, { minLength: 1, maxLength: 6 }), fc.nat())
    .map(([body, others, at]) => {
      let index = at;
      const swap = (value: unknown): unknown => {
        if (Array.isArray(value)) return value.map(swap);
        if (typeof value !== "object" || value === null) {
          index++;
          return index % 3 === 0 ? others[index % others.length] : value;
        }
        return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, swap(one)]));
      };
      return swap(body);
    });
  return {
    status: fc.oneof(
      fc.integer({ min: 200, max: 599 }),
      fc.constantFrom(...fixtures.map(({ status }) => status), 200, 403, 404, 429, 500, 503),
    ),
    text: fc.oneof(
      fc.constantFrom(...bodies, {}).map((body) => JSON.stringify(body)),
      mixed.map((body) => JSON.stringify(body)),
      fc.json(),
      fc.string(),
    ),
  };
}

function leavesOf(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [value];
  return Object.values(value).flatMap(leavesOf);
}

/** Describes that only documented answers say that nobody was phoned. */
export function describeNotPlaced({ provider, dialAnswered }: ProviderBench): void {
  const { fixtures } = provider;
  const documented = fixtures.filter(({ outcome }) => saysNotPlaced(outcome));
  /** Under a status that refuses, a documented kind of code will do; elsewhere only the very answer. */
  const familyOf = (code: string) => code.replace(/_?\d+$/, "");
  const isDocumented = (status: number, outcome: DialOutcome) =>
    documented.some(({ status: known, outcome: one }) => {
      if (one.kind !== outcome.kind || !("code" in one) || !("code" in outcome)) return false;
      return refused.has(status)
        ? refused.has(known) && familyOf(one.code) === familyOf(outcome.code)
        : known === status && one.code === outcome.code;
    });

  it("says that nobody was phoned for documented answers alone, whatever the answer", async () => {
    const { status: anyStatus, text: anyText } = answersLike(fixtures);
    await fc.assert(
      fc.asyncProperty(anyStatus, anyText, async (status, text) => {
        const outcome = await dialAnswered(status, text);
        if (!saysNotPlaced(outcome)) return;
        const isByStatus = refused.get(status) === outcome.kind;
        expect([status, outcome, isByStatus || isDocumented(status, outcome)]).toEqual([
          status,
          outcome,
          true,
        ]);
      }),
      { numRuns: perTier({ quick: 25, long: 80 }) },
    );
  });

  it("quotes no text of an answer, which may hold a number", async () => {
    const { status: anyStatus, text: anyText } = answersLike(fixtures);
    await fc.assert(
      fc.asyncProperty(anyStatus, anyText, async (status, text) => {
        const outcome = await dialAnswered(status, text);
        if (!("code" in outcome)) return;
        expect(outcome.code).toMatch(/^\w{1,60}$/);
        expect(outcome.code).not.toMatch(/\d{7}/);
      }),
      { numRuns: perTier({ quick: 20, long: 60 }) },
    );
  });

  const mayHaveRung = fixtures.filter(({ outcome }) => !saysNotPlaced(outcome));
  it.each(mayHaveRung)(
    "does not read $status of $page as not placed if fields are added",
    async ({ status, body }) => {
      if (typeof body !== "object" || body === null || Array.isArray(body)) return;
      const outcome = await dialAnswered(
        status,
        JSON.stringify({ ...body, error: "x", detail: 1 }),
      );
      expect(saysNotPlaced(outcome)).toBe(false);
    },
  );
}
