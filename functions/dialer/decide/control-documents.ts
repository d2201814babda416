import type { Call } from "#shared/calls/call-request.ts";
import { rememberReceivers, unknownReceivers } from "#shared/events/outbox-ledger.ts";
import { documentsAgeMsMax } from "#shared/lib/timing.ts";
import type { ControlDocuments } from "#shared/policy/ledger-epoch.ts";
import { doNotCallListKey, listIn } from "#shared/policy/number-entries.ts";
import type { DocumentKey } from "#shared/ports/document-kinds.ts";
import { backlogKeys, callKeys, rareNumberKeys } from "#shared/rules/gates.ts";
import { createResolver, type ResolvedCall } from "#shared/rules/resolved-call.ts";
import { distinctKeys, listKeys } from "#shared/rules/rule.ts";
import { listAnswerKeys } from "../record/provider-answer.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { mergeControlDocuments, readWithSuspension } from "../runtime/epoch.ts";

/**
 * Reads all documents that control these calls at once: breakers, pauses, cancellations, do-not-call entries, paces,
 * accounts, backlogs, and those that show a restore.
 *
 * @param numbers true to read the do-not-call entry of each number; every call is checked again before it is
 * dialed
 */
export async function readControlDocuments(
  calls: readonly Call[],
  { numbers }: { numbers: boolean },
  deps: Pick<DialerDeps, "documents" | "epochStore" | "settings" | "clock" | "log" | "memory">,
): Promise<ControlDocuments> {
  const { plan, table, numbers: hasher } = deps.settings;
  const { memory } = deps;
  const now = deps.clock.now();
  const hashesOf = numbers ? hasher.all : () => undefined;
  const resolver = createResolver(table, hashesOf);
  const resolved = calls.map((call) => resolver.resolve(call, undefined));
  const backlogs = [...new Map(resolved.map((one) => [one.backlog, one])).values()];
  const rare = numbers ? listKeys(rareNumberKeys, resolved, now) : [];
  const own = { plan, clock: deps.clock, knownReceivers: memory.knownReceivers };
  const receivers = unknownReceivers(calls, own);
  const keys = [
    doNotCallListKey,
    ...listKeys(callKeys, resolved, now),
    ...listKeys(backlogKeys, backlogs, now),
    ...backlogs.flatMap(settlingKeys),
    ...(memory.documents.hasClientEntries ? rare : []),
    ...receivers,
  ];
  const read = await readWithSuspension(distinctKeys(keys), deps);
  rememberReceivers(receivers, read, own);
  if (memory.documents.hasClientEntries || listIn(read)?.hasClientEntries !== true) return read;
  // Only the process that learns of the first such document reads twice. Others read them with the rest.
  memory.documents.hasClientEntries = true;
  if (rare.length === 0) return read;
  return mergeControlDocuments(read, await readWithSuspension(rare, deps));
}

/** Names the documents by which no rule asks, but which are needed once the provider has answered. */
function settlingKeys({ of, target, backlog }: ResolvedCall): DocumentKey[] {
  if (target === undefined) return [];
  return [...listAnswerKeys(of, target), { kind: "backlog", key: backlog }];
}

/** The beginning of a read: its time, and the changes by this process that it may not see. */
export interface Asked {
  at: number;
  changed: number;
}

export function beginRead({ clock, memory }: Pick<DialerDeps, "clock" | "memory">): Asked {
  return { at: clock.now(), changed: memory.documents.changed };
}

/**
 * Returns a function that returns the documents of a delivery's calls. It reads them again if they would be more than
 * 5 s old at the requested time, as calls may be dialed minutes after the delivery began, or if this process has
 * opened or closed a breaker since. Age counts from the start of the read.
 */
export function createFreshDocuments(
  calls: readonly Call[],
  first: { read: ControlDocuments; asked: Asked },
  deps: Pick<DialerDeps, "documents" | "epochStore" | "settings" | "clock" | "log" | "memory">,
): (at: number) => Promise<ControlDocuments> {
  let last = { asked: first.asked, read: Promise.resolve(first.read) };
  return (at) => {
    const asked = beginRead(deps);
    // If the clock was set back, the age is unknown.
    const isOld = asked.at < last.asked.at || at - last.asked.at > documentsAgeMsMax;
    if (isOld || asked.changed !== last.asked.changed) {
      const next = { asked, read: readControlDocuments(calls, { numbers: true }, deps) };
      last = next;
      next.read.catch(() => {
        if (last === next) last = { ...next, asked: { ...asked, at: -Infinity } }; // the next caller reads again
      });
    }
    return last.read;
  };
}
