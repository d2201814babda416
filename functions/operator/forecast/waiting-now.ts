import { requestIdOf } from "#shared/calls/ids.ts";
import { withTimeLimit } from "#shared/lib/retry.ts";
import { upkeepKey } from "#shared/policy/ledger-epoch.ts";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import { minuteMs } from "#shared/lib/units.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import type { RouteDeps } from "#functions/api/http/context.ts";
import { UnreachableError } from "#functions/api/http/port-limits.ts";
import { type Forecasted, forecastCalls } from "./forecast-calls.ts";
import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import { findText } from "#shared/rules/texts.ts";
import { createHoldersNow, type HeldBy, type HolderNow } from "./holders-now.ts";
import type { Delay } from "./queued.ts";
import type { WaitingCall } from "./read-backlogs.ts";
import { type ControlsRead, readControls } from "./read-controls.ts";

/** Time for which the waiting calls are remembered, and time limit of reading them. */
const rememberedMs = 5_000;
const readSecondsMax = 15;

/** A call that waits, with what holds it now and its expected end. */
export interface CallNow {
  id: string;
  client: string;
  agentId: string;
  /** The split that has chosen its agent, and its round. */
  split?: string | undefined;
  /** The request to which it belongs: that of the first call of its chain. */
  requestId: string;
  /** Key of its backlog. */
  backlog: string;
  /** Undefined: the plan has no route for it. */
  account: ResolvedAccount | undefined;
  heldBy: HeldBy;
  /**
   * Time at which it is expected to be dialed or to end otherwise, in milliseconds since the epoch. Null: not known,
   * as it waits for a person or a provider.
   */
  endsAt: number | null;
  /** True if that end is its request to the provider. */
  isDialed: boolean;
  /** The delays until then. */
  delays: readonly Delay[];
  /** Its account, if that answers slowly and its speed is not known yet. */
  unmeasured: string | undefined;
}

/** All calls that wait. */
export interface WaitingNow {
  /** Time at which they were read. */
  at: number;
  calls: readonly CallNow[];
  /** Number of calls whose rows were read. */
  rowsRead: number;
  /** Agents of backlogs that were read in part. */
  agentsCut: ReadonlySet<string>;
  /** True if there are more backlogs than were read. */
  isCut: boolean;
  /** Number of waiting calls as the last visit of all backlogs counted them, and its time; undefined before the first. */
  counted: { calls: number; at: number } | undefined;
  /** The documents that control them. */
  read: ControlsRead;
  /** Returns what holds a call whose row was read since. */
  holderOf: HolderNow;
}

const remembered = new WeakMap<object, { until: number; waiting: Promise<WaitingNow> }>();

/**
 * Reads the waiting calls and serves them as the dispatcher will. The result is cached for five seconds; concurrent
 * requests share it.
 *
 * @throws UnreachableError if they cannot be read in time
 */
export function readWaitingNow(deps: RouteDeps): Promise<WaitingNow> {
  const now = deps.clock.now();
  const current = remembered.get(deps.documents);
  if (current !== undefined && now < current.until) return limited(current.waiting);
  const waiting = readAnew(deps);
  const entry = { until: now + rememberedMs, waiting };
  remembered.set(deps.documents, entry);
  waiting.catch(() => {
    if (remembered.get(deps.documents) === entry) remembered.delete(deps.documents);
  });
  return limited(waiting);
}

/** Waits for a result, as on Workers that of another request never comes if its client hangs up. */
function limited(waiting: Promise<WaitingNow>): Promise<WaitingNow> {
  return withTimeLimit(waiting, readSecondsMax).catch((cause: unknown) => {
    if (cause instanceof UnreachableError) throw cause;
    throw new UnreachableError("the waiting calls were not read in time", { cause });
  });
}

async function readAnew(deps: RouteDeps): Promise<WaitingNow> {
  const { settings, clock } = deps;
  const read = await readControls({ allWaiting: true }, [settings], deps);
  const now = clock.now();
  const holderOf = createHoldersNow(read, { ...settings, now });
  const posted = { calls: [], client: "", agents: [], at: now };
  const from = servedFrom(read.documents, now);
  const inputs = { read, now, from, armsKeyOf: settings.armsKeyOf };
  const ends =
    read.unread === undefined ? (await forecastCalls(posted, settings, inputs)).waiting : [];
  const calls = read.waiting.map((one, index): CallNow => {
    const { call } = one;
    const { account: name = null, delays = [], end } = ends[index] ?? {};
    const { heldBy, account, expiresAt } = holderOf(one);
    return {
      id: call.id,
      client: call.client,
      agentId: call.request.agent_id,
      split: call.split,
      requestId: requestIdOf(call.ancestors?.[0] ?? call.id),
      backlog: one.backlog,
      account,
      heldBy,
      endsAt: endOf(one, ends[index], { heldBy, expiresAt, now }),
      isDialed: end?.kind === "dialed",
      delays,
      unmeasured: name !== null && read.unmeasured.has(name) ? name : undefined,
    };
  });
  const { agentsCut, isCut } = read;
  const rowsRead = read.waiting.filter(({ hasNumber }) => hasNumber).length;
  const upkeep = read.documents.get(upkeepKey.kind, upkeepKey.key)?.value;
  return { at: now, calls, rowsRead, agentsCut, isCut, counted: upkeep?.waiting, read, holderOf };
}

/** Returns the time from which calls are served: if no dispatcher runs, the time of the next cron. */
function servedFrom(documents: DocumentsRead, now: number): number {
  const dispatcher = documents.get(dispatcherKey.kind, dispatcherKey.key)?.value;
  const isIdle = dispatcher !== undefined && dispatcher.holder === null;
  return isIdle ? Math.ceil(now / minuteMs) * minuteMs : now;
}

/** Returns the time at which a call is expected to be dialed, or to end otherwise. */
function endOf(
  { dueAt }: WaitingCall,
  forecasted: Forecasted | undefined,
  { heldBy, expiresAt, now }: { heldBy: HeldBy; expiresAt: number; now: number },
): number | null {
  const { end } = forecasted ?? {};
  if (end?.kind === "dialed") return end.at;
  if (end?.kind === "expire") return Math.max(now, expiresAt);
  if (end?.kind !== "rejected" || findText(heldBy.reason)?.stops === true) return null;
  return Math.max(now, dueAt);
}
