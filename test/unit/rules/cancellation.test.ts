import { describe, expect, it } from "vitest";
import { toIndexSet } from "#shared/calls/index-set.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import type { CancellationOrder } from "#shared/ports/document-kinds.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import { admit, type GivenOrder, isCovered, keys } from "#shared/rules/cancellation.ts";
import { aCall, aRequestId } from "#test/support/calls.ts";
import { dayMs } from "#shared/lib/units.ts";

const at = 1_000_000;
const requestId = aRequestId(at);
const first = { id: toCallId(requestId, 7), client: "crm", acceptedAt: at };
const order: CancellationOrder = { client: null, at, by: "ada", indexes: null };

describe("an order", () => {
  const covers = (as: GivenOrder["as"], acceptedAfterMs: number) =>
    isCovered({ ...first, acceptedAt: at + acceptedAfterMs }, { order, as });

  it.each<[as: GivenOrder["as"], lastMs: number]>([
    ["agent", 0],
    ["redialed", 10_000],
  ])("on its %s ends a call that was accepted up to %s ms after it", (as, lastMs) => {
    expect([covers(as, lastMs), covers(as, lastMs + 1)]).toEqual([true, false]);
  });

  it("on its request ends a call whenever it was accepted", () => {
    expect(covers("request", 365 * dayMs)).toBe(true);
  });

  it.each<[client: string | null, ends: boolean]>([
    [null, true],
    ["crm", true],
    ["shop", false],
  ])("of the client %s ends a call of the client crm: %s", (client, ends) => {
    expect(isCovered(first, { order: { ...order, client }, as: "request" })).toBe(ends);
  });

  it("that names calls ends these alone", () => {
    const naming = (index: number) => ({ ...order, indexes: toIndexSet([index]) });
    expect(isCovered(first, { order: naming(7), as: "request" })).toBe(true);
    expect(isCovered(first, { order: naming(6), as: "request" })).toBe(false);
  });
});

describe("a call", () => {
  const ancestor = aRequestId(at);
  const ancestors = [toCallId(ancestor, 3)];
  const call = aCall({ ...first, requestId, id: first.id, ancestors });
  const { agent_id: agent } = call.request;
  const fresh = aCall({ ...first, requestId, id: first.id });
  const judge = (of: Parameters<typeof cancellationKeyOf>[0], ...orders: CancellationOrder[]) => {
    const stored = { version: "v", json: JSON.stringify({ of, orders }), expiresAt: null };
    const documents = toDocumentsRead([{ ...cancellationKeyOf(of), ...stored }]);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a resolved call, the rule reads the call alone
    const resolved = { call } as Parameters<typeof admit>[0];
    const verdict = admit(resolved, { documents });
    return verdict && Object.values(verdict);
  };

  const by = (reason: string) => ["end", "CANCELLED", reason];

  it("reads the orders on its agent, its request and its ancestors' requests", () => {
    const [ofAgent, ofRequest, ofAncestor] = [
      { agent },
      { request: requestId },
      { request: ancestor },
    ];
    expect(keys({ call: fresh })).toEqual([ofAgent, ofRequest].map(cancellationKeyOf));
    expect(keys({ call })).toEqual([ofAgent, ofRequest, ofAncestor].map(cancellationKeyOf));
  });

  it("is ended by an order on its agent, its request or an ancestor's request", () => {
    for (const what of [{ agent }, { request: requestId }, { request: ancestor }]) {
      expect(judge(what, order)).toEqual(by("operator"));
      expect(judge(what, { ...order, client: "crm" })).toEqual(by("client"));
      expect(judge(what, { ...order, client: "crm" }, order)).toEqual(by("operator"));
      expect(judge(what, { ...order, client: "shop" })).toBeUndefined();
    }
    expect(judge({ agent: "another" }, order)).toBeUndefined();
  });

  it("is ended by an order that names it, or the call that it replaces", () => {
    const naming = (index: number) => ({ ...order, indexes: toIndexSet([index]) });
    expect(judge({ request: requestId }, naming(7))).toEqual(by("operator"));
    expect(judge({ request: requestId }, naming(3))).toBeUndefined();
    expect(judge({ request: ancestor }, naming(3))).toEqual(by("operator"));
    expect(judge({ request: ancestor }, naming(7))).toBeUndefined();
  });
});
