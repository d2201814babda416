import type { CallRow } from "#shared/calls/call-row.ts";
import { indexOf, requestIdOf } from "#shared/calls/ids.ts";
import { readTries } from "#shared/ports/last-tries.ts";
import type { CallLedger, ListOf, Page } from "#shared/ports/ledger.ts";
import { callIdsOf } from "../api/actions/request-rows.ts";

/** Names by which the ledger lists requests. */
export interface RequestNames {
  client?: string | undefined;
  campaign?: string | undefined;
  agent_id?: string | undefined;
}

/** Returns the ledger's list for names of which some are given. Undefined: none is. */
export function findRequestList({ client, campaign, agent_id }: RequestNames): ListOf | undefined {
  if (agent_id !== undefined) return { agentId: agent_id };
  if (client !== undefined) return { client, campaign };
  return campaign === undefined ? undefined : { campaign };
}

/** True if a row has all names that are given. */
export function hasNames(
  row: Pick<CallRow, "client" | "labels" | "agentId">,
  { client, campaign, agent_id }: RequestNames,
): boolean {
  return (
    (client === undefined || row.client === client) &&
    (campaign === undefined || row.labels?.campaign === campaign) &&
    (agent_id === undefined || row.agentId === agent_id)
  );
}

/**
 * Lists the calls of the requests in a list of the ledger, newest first, as the ledger lists calls: reads the ids of
 * `limit` calls, those of other agents among them. Tries of a call stand before it, the last one first, so a page has
 * more rows than its limit where calls were tried again.
 */
export async function listByRequest(
  ledger: Pick<CallLedger, "list" | "read">,
  of: ListOf,
  { before, limit }: { before?: string | undefined; limit: number },
): Promise<Page> {
  const { ids, next, skipped } = await listIds(ledger, of, { before, limit });
  const read = await ledger.read(ids);
  const tries = await readTries(read.rows, (some) => ledger.read(some));
  const rows = ids.flatMap((id) => tries.get(id)?.toReversed() ?? []);
  return { rows, unreadable: skipped + read.unreadable.size, next };
}

async function listIds(
  ledger: Pick<CallLedger, "list">,
  of: ListOf,
  { before, limit }: { before?: string | undefined; limit: number },
) {
  const ids: string[] = [];
  let next = before;
  let skipped = 0;
  // One request may have enough calls.
  for (const most of [1, limit - 1]) {
    const page = await ledger.list({ ...of, before: next, limit: Math.max(1, most) });
    skipped += page.unreadable;
    for (const first of page.rows) {
      const own = idsDown(first, before).slice(0, limit - ids.length);
      ids.push(...own);
      if (ids.length === limit) return { ids, next: own.at(-1) ?? first.id, skipped };
    }
    next = page.next;
    if (next === undefined) break;
  }
  return { ids, next, skipped };
}

/** Returns the ids of a request's calls from the last one down to `first`, those below `before`. */
function idsDown({ id, batchCalls }: CallRow, before: string | undefined): string[] {
  const all = callIdsOf(requestIdOf(id), indexOf(id), batchCalls).toReversed();
  return before === undefined ? all : all.filter((one) => one < before);
}
