import { backlogOf, type CallRow } from "#shared/calls/call-row.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import type { PostedMark } from "./clients.ts";
import type { RowVersion } from "./ledger.ts";
import type { SeenRow } from "./operator-acts.ts";
import type { Placement } from "./placement.ts";
import type { Scenario } from "./scenario.ts";

/** Rules about what the headers of requests say: when their calls are dialed at the earliest, and which are urgent. */

/** Maximum difference of a process's clock, where clocks differ; and a timer's. */
const apartMs = 2_000;
const timerMs = 1;

/** Checks that nobody is dialed before the time that the request named, and that rows tell what it said. */
export function headerViolations({
  posted,
  placements,
  rows,
  scenario: { clocks },
}: {
  posted: readonly PostedMark[];
  placements: readonly Placement[];
  rows: readonly SeenRow[];
  scenario: Scenario;
}): string[] {
  const markOf = new Map(posted.map((one) => [one.mark, one]));
  const slackMs = clocks === "same" ? timerMs : apartMs;
  const early = placements.flatMap(({ id, mark, leftAt }) => {
    const notBefore = markOf.get(mark)?.notBefore ?? -Infinity;
    return leftAt + slackMs < notBefore ? [`too early: ${id} at ${iso(leftAt)}`] : [];
  });
  const markIn = new Map(placements.map(({ id, mark }) => [id, mark]));
  const untold = rows.flatMap(({ id, revealed, not_before, urgent }) => {
    const of = markOf.get(revealed?.mark ?? markIn.get(id) ?? "");
    if (of === undefined) return [];
    const at = of.notBefore === undefined ? undefined : iso(of.notBefore);
    const isTold = (urgent === true) === of.isUrgent && not_before === at;
    return isTold ? [] : [`lost: what the headers said of ${id}`];
  });
  // By a clock that is an hour ahead, any time has come.
  return clocks === "stepping" ? untold : [...early, ...untold];
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

/** Time within which a look sees a row; that within which a row is dispatched again; and that in which one is written off. */
const seenMs = 10_000;
const againMs = 60_000;
const writtenOffMs = 30_000;

/** A time for which an urgent row stood WAITING and due. */
interface UrgentSpan {
  id: string;
  from: number;
  until: number;
}

/**
 * Checks that no dispatch serves a call while an urgent one of the same client and agent, which was due before, has not
 * been dispatched.
 */
export function urgencyViolations({
  rows,
  dispatches,
  calmFrom,
  endAt,
}: {
  rows: readonly RowVersion[];
  dispatches: readonly { message: Extract<Message, { kind: "dispatch" }>; at: number }[];
  calmFrom: number;
  endAt: number;
}): string[] {
  const urgent = new Map<string, UrgentSpan[]>();
  const backlogs = new Map<string, string>();
  for (const [id, versions] of Map.groupBy(rows, (one) => one.id)) {
    for (const [index, { at, json }] of versions.entries()) {
      const row: Pick<CallRow, "state" | "dueAt" | "client" | "agentId"> & { isUrgent?: boolean } =
        JSON.parse(json);
      const name = backlogOf(row);
      if (row.isUrgent !== true) backlogs.set(id, name);
      else if (row.state === "WAITING") {
        const from = Math.max(at, row.dueAt ?? Infinity);
        const until = versions[index + 1]?.at ?? endAt;
        urgent.set(name, [...(urgent.get(name) ?? []), { id, from, until }]);
      }
    }
  }
  const sentAt = new Map<string, number[]>();
  for (const { message, at } of dispatches) {
    for (const { id } of message.rows) sentAt.set(id, [...(sentAt.get(id) ?? []), at]);
  }
  return dispatches.flatMap(({ message, at }) => {
    if (at < calmFrom) return [];
    return message.rows.flatMap(({ id }) => {
      const ahead = urgent.get(backlogs.get(id) ?? "") ?? [];
      const passed = ahead.find(
        (one) =>
          one.from + seenMs < at &&
          one.until > at + writtenOffMs &&
          !(sentAt.get(one.id) ?? []).some((sent) => sent > at - againMs && sent <= at + timerMs),
      );
      return passed === undefined ? [] : [`not urgent: ${passed.id} behind ${id} at ${iso(at)}`];
    });
  });
}
