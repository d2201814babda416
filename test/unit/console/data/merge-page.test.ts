import * as fc from "fast-check";
import { expect, it } from "vitest";
import { type ListRead, mergePage } from "#functions/console/data/merge-page.ts";

const pageItems = 3;
const idOf = (id: string) => id;
const nothing: ListRead<string> = { placed: [] };

/** Returns the page below a cursor of a list, the highest ids first. */
function pageOf(all: readonly string[], start: string | undefined): ListRead<string> {
  const below = all
    .filter((id) => start === undefined || id < start)
    .toSorted()
    .toReversed();
  const placed = below.slice(0, pageItems).map((id) => ({ item: id, position: id }));
  return { placed, cursor: below.length > pageItems ? placed.at(-1)?.item : undefined };
}

const step = fc.oneof(
  fc.record({ kind: fc.constant("more" as const) }),
  fc.record({ kind: fc.constant("renew" as const), page: fc.nat(4) }),
  fc.record({ kind: fc.constant("leaves" as const), at: fc.nat(30) }),
  fc.record({ kind: fc.constant("comes" as const), at: fc.nat(99) }),
);

it("shows each item once and in order, whatever comes and goes between the pages, and all once all are renewed", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let all = Array.from({ length: 12 }, (_, n) => String(n * 8 + 1).padStart(2, "0"));
      let list = mergePage(nothing, pageOf(all, undefined), { start: undefined, idOf });
      const ids = () => list.placed.map(({ item }) => item);
      const renew = (start: string | undefined) => {
        const page = pageOf(all, start);
        list = mergePage(list, page, { start, idOf });
        return page.cursor;
      };
      for (const one of steps) {
        if (one.kind === "more" && list.cursor !== undefined) renew(list.cursor);
        if (one.kind === "renew") renew(one.page === 0 ? undefined : ids()[one.page * 2]);
        if (one.kind === "leaves") all = all.filter((_, n) => n !== one.at);
        if (one.kind === "comes") all = [...new Set([...all, String(one.at).padStart(2, "0")])];
        expect(ids()).toEqual([...new Set(ids())].toSorted().toReversed());
        expect(list.cursor === undefined || ids().every((id) => id >= (list.cursor ?? ""))).toBe(
          true,
        );
      }
      for (let start = renew(undefined), turns = 0; turns < 40 && start !== undefined; turns++) {
        start = renew(start);
      }
      expect(ids()).toEqual(all.toSorted().toReversed());
    }),
  );
});
