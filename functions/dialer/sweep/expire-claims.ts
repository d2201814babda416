import { toCall } from "../../../shared/calls/call-row.ts";
import { expireClaim } from "../../../shared/calls/transitions.ts";
import type { Route } from "../../../shared/calls/route.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { unknownDueAt } from "../record/settle.ts";
import { countStates, logDecision } from "../record/write-decisions.ts";

/** Maximum calls under way that are read, and rows of one write. */
const dialingMax = 5_000;
const pageRows = 500;

/** Turns calls UNKNOWN whose claims are past their time. Resolves to true once all of them were looked at. */
export async function expireClaims(deps: DialerDeps): Promise<boolean> {
  const { ledger, clock, random, settings, log } = deps;
  const calls = await ledger.dialing(dialingMax);
  const late = calls.filter(({ dueAt }) => dueAt <= clock.now());
  for (let start = 0; start < late.length; start += pageRows) {
    const ids = late.slice(start, start + pageRows).map(({ id }) => id);
    const { rows, unreadable } = await ledger.read(ids);
    for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
    const at = clock.now();
    const { reviewAfterSeconds } = settings.plan;
    const canLookUp = (route: Route) => settings.providerOf(route).lookUp !== undefined;
    const changes = [...rows.values()].flatMap((row) => {
      const of = { canLookUp: row.route !== null && canLookUp(row.route), reviewAfterSeconds };
      const dueAt = unknownDueAt(row, of, at, random.fraction());
      const next = expireClaim(row, dueAt, { version: random.version(), at });
      return next === undefined ? [] : [{ next, seen: row.version }];
    });
    const written = await ledger.write(changes);
    const made = changes.flatMap(({ next }, index) => (written[index] === true ? next : []));
    for (const row of made) {
      const call = toCall(row);
      if (call !== undefined) logDecision(deps, call, "UNKNOWN", { reason: row.reason });
    }
    await countStates(
      made.map(({ state }) => state),
      deps,
    );
  }
  return calls.length < dialingMax;
}
