import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { toCallId } from "#shared/calls/ids.ts";
import { states } from "#shared/calls/states.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import {
  type Claimed,
  contextOf,
  toAcceptSpan,
  toClaimSpans,
  toWaitSpans,
} from "#functions/dialer/traces/call-spans.ts";
import { acceptSpanIdOf, toSpanId } from "#shared/traces/trace-context.ts";
import { aRow } from "#test/support/call-rows.ts";
import { aRequestId } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { route } from "#test/support/results-bench.ts";

const { plan } = createDialerBench();
const requestId = aRequestId();
const id = toCallId(requestId, 3);
const context = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", parentId: "00f067aa0ba902b7" };
const sampled = { ...context, isSampled: true };
const traceparent = `00-${context.traceId}-${context.parentId}-01`;
const attributes = {
  call_id: id,
  request_id: requestId,
  client: "crm",
  agent_id: "agent_sales",
};

type Step = [state: CallRow["state"], at: number, reason?: string];
const rowOf = (steps: readonly Step[], more: Partial<CallRow> = {}) =>
  aRow({
    id,
    history: steps.map(([state, at, reason = "r"]) => ({ state, at, reason })),
    updatedAt: steps.at(-1)?.[1] ?? 0,
    ...more,
  });

describe("the context of a row", () => {
  it("is that of a sampled request alone", () => {
    expect(contextOf(aRow({ traceparent }))).toEqual(sampled);
    expect(contextOf(aRow({ traceparent: traceparent.replace(/1$/, "0") }))).toBeUndefined();
    expect(contextOf(aRow({ traceparent: "odd" }))).toBeUndefined();
    expect(contextOf(aRow())).toBeUndefined();
  });
});

describe("the span of an acceptance", () => {
  const row = rowOf([["DIALING", 90]], { acceptedAt: 70, batchCalls: 12 });

  it("is a child of the caller's span, and of nobody where it is the first", () => {
    const spanId = acceptSpanIdOf(requestId);
    const span = {
      spanId,
      traceId: context.traceId,
      name: "accept",
      kind: 2,
      startAt: 70,
      endAt: 90,
      attributes: { ...attributes, calls: 12 },
    };
    expect(toAcceptSpan(row, sampled, plan)).toEqual({ ...span, parentId: context.parentId });
    expect(toAcceptSpan(row, { ...sampled, parentId: spanId }, plan)).toEqual(span);
  });

  it("names no agent that the plan lacks, and says which calls are tests", () => {
    const odd = { ...row, agentId: "+12025550123", mode: "test" as const };
    expect(toAcceptSpan(odd, sampled, plan).attributes).toEqual({
      ...attributes,
      agent_id: "*",
      test: true,
      calls: 12,
    });
  });
});

describe("the span of a wait", () => {
  it("is of the last one, from its first step to the claim", () => {
    const row = rowOf([
      ["WAITING", 10, "hours:callingHours.default"],
      ["DIALING", 20],
      ["WAITING", 30, "pace"],
      ["WAITING", 40, "paused"],
      ["DIALING", 50],
    ]);
    expect(toWaitSpans(row, { context: sampled, claim: "c2" }, plan)).toEqual([
      {
        ...context,
        spanId: toSpanId("wait", id, "c2"),
        name: "wait",
        kind: 1,
        startAt: 30,
        endAt: 50,
        attributes: { ...attributes, reason: "paused" },
      },
    ]);
  });

  it("is none of a call that did not wait before", () => {
    const dialed: Step[] = [["DIALING", 20]];
    const again: Step[] = [
      ["WAITING", 10],
      ["DIALING", 20],
      ["UNKNOWN", 30],
      ["DIALING", 40],
    ];
    for (const steps of [dialed, again])
      expect(toWaitSpans(rowOf(steps), { context: sampled }, plan)).toEqual([]);
  });
});

describe("the spans of a claim", () => {
  const row = rowOf(
    [
      ["WAITING", 10, "turn"],
      ["DIALING", 20],
    ],
    { attempt: 2, claimedAt: 20, route },
  );
  const request = { sentAt: 25, answeredAt: 60, outcome: { kind: "placed" } as DialOutcome };
  const claimed: Claimed = { row, claim: "c1", request };
  const along = { ...attributes, attempt: 2, account: route.account, provider: "twilio" };
  const next = rowOf([], { state: "PLACED", reason: "placed" });
  const spansOf = (of: Claimed, settled = next) =>
    toClaimSpans(of, { next: settled, context: sampled, at: 75 }, plan);

  it("are its wait, its request and the settlement, one after another", () => {
    expect(spansOf(claimed)).toEqual([
      ...toWaitSpans(row, { context: sampled, claim: "c1" }, plan),
      {
        ...context,
        spanId: toSpanId("dial", id, "c1"),
        name: "dial",
        kind: 3,
        startAt: 25,
        endAt: 60,
        isError: false,
        attributes: { ...along, outcome: "placed" },
      },
      {
        ...context,
        spanId: toSpanId("settle", id, "c1"),
        name: "settle",
        kind: 1,
        startAt: 60,
        endAt: 75,
        isError: false,
        attributes: { ...along, state: "PLACED", reason: "placed" },
      },
    ]);
    expect(new Set(spansOf(claimed).map(({ spanId }) => spanId)).size).toBe(3);
  });

  it("have none of a request that was not sent, and no account without a route", () => {
    const unsent = { row: { ...row, route: null }, claim: "c1" };
    const [wait, settle, ...others] = spansOf(unsent);
    expect(others).toEqual([]);
    expect(wait?.name).toBe("wait");
    expect(settle).toMatchObject({ name: "settle", startAt: 20, endAt: 75 });
    expect(settle?.attributes).toEqual({
      ...attributes,
      attempt: 2,
      state: "PLACED",
      reason: "placed",
    });
    const [, undated] = spansOf({ ...unsent, row: { ...unsent.row, claimedAt: null } });
    expect(undated?.startAt).toBe(75);
  });

  it("are errors where a provider did not place it, or nobody knows if it did", () => {
    const kinds: DialOutcome[] = [{ kind: "unknown", code: "time_out" }, { kind: "placed" }];
    for (const outcome of kinds) {
      const dial = spansOf({ ...claimed, request: { ...request, outcome } })[1];
      expect(dial?.isError).toBe(outcome.kind !== "placed");
    }
    const errors = Object.keys(states).filter((state) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are its keys
      const settled = { ...next, state: state as CallRow["state"] };
      return spansOf(claimed, settled).at(-1)?.isError === true;
    });
    expect(errors.toSorted()).toEqual(["NEEDS_REVIEW", "UNKNOWN"]);
  });
});
