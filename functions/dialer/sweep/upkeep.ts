import { sweepLeaseMs } from "#shared/lib/timing.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { upkeepKey } from "#shared/policy/ledger-epoch.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { replaySome } from "./client-receiver-replays.ts";
import { trackRequests } from "./track-requests.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { checkEpoch, readEpochs } from "../runtime/epoch.ts";
import { judgeSplits } from "./judge-splits.ts";
import { purgeSome } from "./purge.ts";
import { compactJournal, purgeJournal } from "./compact-journal.ts";
import { writeLease } from "../runtime/lease.ts";
import { holdLease, isTaken } from "./sweep-lease.ts";
import { sweepErasures } from "./sweep-erasures.ts";
import { planSweep } from "./sweep-time.ts";
import { visitBacklogs } from "./visit-backlogs.ts";

/** Maximum part of one run. On D1 they share a thousand statements. */
const parts = {
  requests: { ms: 12_000, statements: 300 },
  replays: { ms: 8_000, statements: 120 },
  erasures: { ms: 8_000, statements: 120 },
  visit: { ms: 8_000, statements: 120 },
  purge: { ms: 8_000, statements: 200 },
  journal: { ms: 5_000, statements: 10 },
  splits: { ms: 5_000, statements: 60 },
};

/**
 * Does each minute what walks through all requests, erasures, backlogs or rows. It is separate from the sweep, which
 * handles claims and must finish however many there are. Each part continues where it stopped. Does nothing during a
 * restore. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function upkeep(deps: DialerDeps, deadline: number): Promise<void> {
  const begin = planSweep(deadline, deps);
  const fail = (error: unknown) => {
    deps.log("alarm", "upkeep.failed", { error: errorForLog(error) });
    return {};
  };
  try {
    const taken = await takeUpkeep(deps);
    if (taken === undefined) return;
    const lease = holdLease(deps, taken);
    const { value } = lease;
    await lease.reach(await trackRequests(value, begin(parts.requests), deps).catch(fail));
    await lease.reach(await replaySome(value, begin(parts.replays), deps).catch(fail));
    await lease.reach(await sweepErasures(value, begin(parts.erasures), deps).catch(fail));
    await lease.reach(await visitBacklogs(value, begin(parts.visit), deps).catch(fail));
    await lease.reach(await purgeSome(value, begin(parts.purge), deps).catch(fail));
    await lease.reach(await compactJournal(value, begin(parts.journal), deps).catch(fail));
    await judgeSplits(begin(parts.splits), deps).catch(fail);
    await purgeJournal(begin(parts.journal), deps).catch(fail);
    await lease.reach({ leaseUntil: 0 });
  } catch (error) {
    fail(error);
  }
}

/** Takes the lease. Resolves to undefined if another run has it, or the ledger was restored. */
async function takeUpkeep(
  deps: Pick<DialerDeps, "documents" | "epochStore" | "clock" | "random" | "log">,
): Promise<StoredDocument<"upkeep"> | undefined> {
  const { clock } = deps;
  const { outside, read } = await readEpochs([upkeepKey], deps);
  const current = read.get("upkeep", upkeepKey.key);
  const now = clock.now();
  if (await isTaken("upkeep", current?.value.leaseUntil, deps)) return undefined;
  // Calls of a restored ledger may have been dialed, and are neither ended nor deleted.
  if ((await checkEpoch(outside, read, deps)) !== undefined) return undefined;
  const fresh: StoredDocument<"upkeep">["value"] = {
    leaseUntil: 0,
    walk: null,
    visitedAt: 0,
    requestsAfter: null,
    replaysAfter: null,
    erasuresAfter: null,
    journalAfter: null,
    purge: null,
    purgeBeganAt: 0,
    purgedUntil: now, // nothing that is older was kept
  };
  const value = { ...(current?.value ?? fresh), leaseUntil: now + sweepLeaseMs };
  return writeLease({ ...upkeepKey, value, expiresAt: null }, current?.version ?? null, deps);
}
