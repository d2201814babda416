import { firstCallIdAt, requestIdOf, toCallId } from "#shared/calls/ids.ts";
import { isClientReceiver, type ClientReceiver } from "#shared/dial-plan/receivers.ts";
import { replayRows } from "#shared/events/replay-rows.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { StoredDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import { skipUnreadable } from "#shared/ports/found-documents.ts";
import { readTries } from "#shared/ports/last-tries.ts";
import { parseClientReceiver } from "#shared/ports/receiver-kinds.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { findReceiverOf } from "../events/client-receivers.ts";

/** Calls of one step of a replay, requests of one page, and replays of one page. */
const stepCalls = 100;
const pageRequests = 50;
const pageReplays = 50;

type Replay = StoredDocument<"replay">;

/**
 * Makes events of calls pending again for clients' own receivers, as replays order it: a step of each replay in turn,
 * from its stored cursor. Lambda would stop a chain of messages after sixteen
 * (https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html).
 *
 * @param last `replaysAfter`: the replay after which the last run stopped
 * @returns the replay after which the next run continues. Null: at the first one
 */
export async function replaySome(
  { replaysAfter }: Pick<ValueOf<"upkeep">, "replaysAfter">,
  time: { isOver(): boolean },
  deps: RowDeps & Pick<DialerDeps, "eventsQueue">,
): Promise<Pick<ValueOf<"upkeep">, "replaysAfter">> {
  const { documents } = deps;
  let after = replaysAfter ?? undefined;
  let open = 0;
  while (!time.isOver()) {
    const page = await documents.list("replay", { after, limit: pageReplays });
    for (const replay of skipUnreadable(page, deps)) {
      if (time.isOver()) return { replaysAfter: after ?? null };
      after = replay.key;
      if (await takeStored(replay, deps)) open += 1;
    }
    if (page.length === pageReplays) continue;
    // Each replay that has not ended takes another step, as long as there is time.
    if (open === 0) return { replaysAfter: null };
    [after, open] = [undefined, 0];
  }
  return { replaysAfter: after ?? null };
}

/** Takes a step of a replay, and stores it. Resolves to true if others follow. A step that fails is taken again by a later run. */
async function takeStored(
  replay: Replay,
  deps: RowDeps & Pick<DialerDeps, "eventsQueue">,
): Promise<boolean> {
  const { documents, random, log } = deps;
  const { kind, key, version: seen } = replay;
  try {
    const value = await takeReplayStep(replay, deps);
    if (value === undefined) await documents.remove([{ kind, key, seen }]);
    else await documents.write([{ next: { ...replay, version: random.version(), value }, seen }]);
    return value !== undefined;
  } catch (error) {
    log("warning", "events.failed", { receiver: key, error: errorForLog(error) });
    return false;
  }
}

/** Goes through some calls of a replay, newest requests first. Resolves to undefined at its end. */
async function takeReplayStep(
  { key, value }: Replay,
  deps: RowDeps & Pick<DialerDeps, "eventsQueue">,
): Promise<Replay["value"] | undefined> {
  const { ledger, memory } = deps;
  // The client may have made or changed the receiver just now, and the cache of this process may be a minute old.
  memory.knownReceivers.delete(parseClientReceiver(key)?.client ?? "");
  const receiver = await findReceiverOf(key, deps);
  if (receiver === undefined || !isClientReceiver(receiver)) return undefined;
  const { from, until } = value;
  let { before, index } = value;
  const query = { client: receiver.own.client, before: before ?? firstCallIdAt(until) };
  const page = await ledger.list({ ...query, limit: pageRequests });
  const ids: string[] = [];
  for (const { id, acceptedAt, batchCalls } of page.rows) {
    if (acceptedAt < from) {
      await makePending(ids, receiver, deps);
      return undefined;
    }
    const count = Math.min(batchCalls - index, stepCalls - ids.length);
    const first = index;
    ids.push(...Array.from({ length: count }, (_, n) => toCallId(requestIdOf(id), first + n)));
    index += count;
    if (index < batchCalls) break;
    [before, index] = [id, 0];
    if (ids.length === stepCalls) break;
  }
  await makePending(ids, receiver, deps);
  if (ids.length === stepCalls) return { ...value, before, index };
  return page.next === undefined ? undefined : { ...value, before: page.next, index };
}

/** Makes the events of some calls and their later tries pending again. */
async function makePending(
  ids: readonly string[],
  { name: receiver, own: { name: own, createdAt } }: ClientReceiver,
  deps: Pick<DialerDeps, "ledger" | "clock" | "log" | "eventsQueue" | "random">,
): Promise<void> {
  if (ids.length === 0) return;
  const read = (some: readonly string[]) => deps.ledger.read(some);
  const { rows } = await read(ids);
  const tries = await readTries(rows, read);
  const isWanted = ({ at }: { at: number }) => at >= createdAt;
  await replayRows([...tries.values()].flat(), { receiver, own, isWanted }, deps);
}
