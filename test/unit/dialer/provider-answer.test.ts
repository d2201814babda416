import { describe, expect, it } from "vitest";
import { applyAnswer, toSettlement } from "#functions/dialer/record/provider-answer.ts";
import { type CallRow, toCall } from "#shared/calls/call-row.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { backlogBreakerOf, refusalsOf } from "#shared/policy/breakers.ts";
import type { DocumentKey, DocumentsRead, ValueOf } from "#shared/ports/document-kinds.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import { type DialOutcome, retryAfterMsMax } from "#shared/providers/provider.ts";
import { createResolver } from "#shared/rules/resolved-call.ts";
import { aRowIn } from "#test/support/call-rows.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { boom, documentOf, putDocument, webhook } from "#test/support/dialer-calls.ts";
import { routeFrom } from "#test/support/plans.ts";

const route = routeFrom("webhook", webhook);
const of = { client: "crm", agentId: "agent_sales" };
const ownBreaker = { kind: "breaker", key: backlogBreakerOf(of) } as const;
const expiresAt = 10_000_000;

/** Returns a bench whose random fraction is this, and what turns an answer to a row of it into a settlement. */
function createAnswers({ plan = {}, fraction = 0.25 }: { plan?: object; fraction?: number } = {}) {
  const bench = createDialerBench({ plan });
  const { deps } = bench;
  deps.random.fraction = () => fraction;
  const target = createResolver(deps.settings.table, () => undefined).along(route, of);
  const answerTo = (outcome: DialOutcome, more: Partial<CallRow>, read?: DocumentsRead) => {
    const row = aRowIn("DIALING", { route, attempt: 1, claimedAt: bench.now(), ...more });
    const call = toCall(row);
    if (call === undefined) throw new Error("the row has lost its call");
    const answer = { outcome, row, call, target, sentAt: bench.now() };
    return read === undefined ? answer : { ...answer, read };
  };
  const settle = (outcome: DialOutcome, more: Partial<CallRow> = {}, read?: DocumentsRead) => {
    const answer = answerTo(outcome, more, read);
    const { id, claim, at, ...rest } = toSettlement(answer, { claim: "last", expiresAt }, deps);
    expect([id, claim, at]).toEqual([answer.row.id, "last", bench.now()]);
    return rest;
  };
  return { bench, settle, answerTo };
}

const open: ValueOf<"breaker"> = {
  state: "open",
  cause: "calls_refused",
  code: "http_422",
  openedAt: 0,
  probeAt: 0,
  intervalMs: minuteMs,
  room: 0,
  blamed: [],
};
const openRead = toDocumentsRead([
  { ...ownBreaker, version: "v", json: JSON.stringify(open), expiresAt: null },
]);
const code = "http_422";

describe("the settlement of an answer", () => {
  it("names the provider's call and the first poll, where there are such", () => {
    const { settle } = createAnswers();
    const placed = { state: "PLACED", reason: "placed" };
    // Strictly, as a field without a value is not an absent one.
    expect(settle({ kind: "placed" })).toStrictEqual(placed);
    expect(settle({ kind: "placed", providerCallId: "CA1" })).toStrictEqual({
      ...placed,
      providerCallId: "CA1",
    });
    const polled = createAnswers({ plan: { results: {} } });
    polled.bench.deps.settings.providerOf = () => ({
      dial: async () => ({ kind: "placed" }),
      readResult: async () => undefined,
    });
    const pollAt = polled.bench.now() + 2 * minuteMs;
    expect(polled.settle({ kind: "placed" })).toStrictEqual({ ...placed, pollAt });
  });

  it("leaves the call unknown after an unclear answer, and after any but a success to a resend", () => {
    const { bench, settle } = createAnswers({ plan: { reviewAfterSeconds: 600 } });
    const unknown = { state: "UNKNOWN", reason: code, dueAt: bench.now() + 600_000 };
    expect(settle({ kind: "unknown", code })).toEqual(unknown);
    expect(settle({ kind: "rejected", code }, { resent: true })).toEqual(unknown);
    expect(settle({ kind: "not_placed", code }, { resent: true })).toEqual(unknown);
    expect(settle({ kind: "placed" }, { resent: true }).state).toBe("PLACED");
  });

  it("draws the time of a resend", () => {
    const { bench, settle } = createAnswers({ fraction: 0.5 });
    const idempotent = routeFrom("webhook", { ...webhook, idempotent: true });
    const { dueAt } = settle({ kind: "unknown", code }, { route: idempotent });
    expect(dueAt).toBe(bench.now() + 2_500);
  });

  it.each([
    ["rejected", "REJECTED"],
    ["forbidden", "NEEDS_REVIEW"],
  ] as const)("ends a call that is %s, unless it was the probe of refusals", (kind, state) => {
    const { bench, settle } = createAnswers();
    expect(settle({ kind, code })).toEqual({ state, reason: code });
    expect(settle({ kind, code }, {}, toDocumentsRead([]))).toEqual({ state, reason: code });
    const waiting = { state: "WAITING", reason: code, dueAt: bench.now() };
    expect(settle({ kind, code }, {}, openRead)).toEqual(waiting);
  });

  it.each(["account_refused", "route_refused"] as const)("lets a call wait after %s", (kind) => {
    const { bench, settle } = createAnswers();
    const waiting = { state: "WAITING", reason: code, dueAt: bench.now() };
    expect(settle({ kind, code })).toEqual(waiting);
  });

  it.each([
    [0, 1_000],
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [6, 32_000],
    [7, 60_000],
    [20, 60_000],
  ])(
    "lets a call that was not placed by attempt %i wait for %i ms, and a part of a second",
    (attempt, ms) => {
      const { bench, settle } = createAnswers();
      const dueAt = bench.now() + ms + 250;
      expect(settle({ kind: "not_placed", code }, { attempt })).toEqual({
        state: "WAITING",
        reason: code,
        dueAt,
      });
    },
  );

  it("waits as long as a provider asks that blames the number, up to a maximum", () => {
    const { bench, settle } = createAnswers();
    const waitMs = (more: { retryAfterSeconds?: number; blamesNumber?: boolean }) =>
      (settle({ kind: "not_placed", code, ...more }).dueAt ?? 0) - bench.now() - 250;
    expect(waitMs({ retryAfterSeconds: 30, blamesNumber: true })).toBe(30_000);
    expect(waitMs({ retryAfterSeconds: 100_000, blamesNumber: true })).toBe(retryAfterMsMax);
    expect(waitMs({ blamesNumber: true })).toBe(1_000);
    expect(waitMs({ retryAfterSeconds: 30, blamesNumber: false })).toBe(1_000);
    expect(waitMs({ retryAfterSeconds: 30 })).toBe(1_000);
  });

  it("is due at a whole millisecond, and by the time at which the call expires", () => {
    const { bench, settle } = createAnswers({ fraction: 0.000_6 });
    expect(settle({ kind: "not_placed", code }).dueAt).toBe(bench.now() + 1_001);
    bench.advance(expiresAt - bench.now() - 500);
    expect(settle({ kind: "not_placed", code }).dueAt).toBe(expiresAt);
  });
});

describe("an answer", () => {
  /** Applies an answer while a breaker of busy agents is open, and returns whether it still is. */
  async function apply(
    outcome: DialOutcome,
    { row = {}, read }: { row?: Partial<CallRow>; read?: DocumentsRead } = {},
  ) {
    const { bench, answerTo } = createAnswers();
    await putDocument(bench, ownBreaker, { ...open, cause: "agent_refused" });
    const asked: (readonly DocumentKey[])[] = [];
    const documents = {
      ...bench.deps.documents,
      read: (keys: readonly DocumentKey[]) => {
        asked.push(keys);
        return bench.deps.documents.read(keys);
      },
    };
    await applyAnswer(answerTo(outcome, row, read), { ...bench.deps, documents });
    const isOpen = (await documentOf(bench, "breaker", ownBreaker.key)) !== undefined;
    return { bench, asked, isOpen };
  }

  it("is applied to the breakers as they were read before the request, or else as they are now", async () => {
    const { asked, isOpen } = await apply({ kind: "placed" });
    expect(isOpen).toBe(false);
    expect(asked[0]).toEqual([
      { kind: "breaker", key: "account:webhook:http://127.0.0.1:9" },
      ownBreaker,
      { kind: "counters", key: "account:webhook:http://127.0.0.1:9" },
      { kind: "counters", key: ownBreaker.key },
      { kind: "counters", key: refusalsOf(of) },
    ]);
    expect((await apply({ kind: "placed" }, { read: toDocumentsRead([]) })).isOpen).toBe(true);
  });

  it("to a resend is applied only if the call was placed, as another may concern the first request", async () => {
    const resent = { row: { resent: true } };
    expect((await apply({ kind: "placed" }, resent)).isOpen).toBe(false);
    const { asked, bench } = await apply({ kind: "rejected", code }, resent);
    expect(asked).toEqual([]);
    expect(await documentOf(bench, "counters", refusalsOf(of))).toBeUndefined();
  });

  it("counts a refusal with the country of its number", async () => {
    const { bench } = await apply({ kind: "rejected", code });
    const counters = await documentOf(bench, "counters", refusalsOf(of));
    expect(JSON.stringify(counters?.value)).toContain("US");
  });

  it("that cannot be applied is a warning", async () => {
    const { bench, answerTo } = createAnswers();
    const answer = answerTo({ kind: "placed" }, {});
    await applyAnswer(answer, {
      ...bench.deps,
      documents: { ...bench.deps.documents, read: boom },
    });
    expect(bench.eventsOf("breaker.update_failed")).toMatchObject([
      { level: "warning", call_id: answer.row.id },
    ]);
  });
});
