import type { RouteDeps } from "../api/http/context.ts";
import { listBacklogs, readPositions } from "./forecast/read-backlogs.ts";
import type { ListPage } from "./scan.ts";

type Deps = Pick<RouteDeps, "documents" | "ledger">;

/**
 * Lists waiting calls that go ahead of their client's others, newest first. Call-backs are among them: they have the old
 * ids of their chains, so that a list of all waiting calls has them last. If too many wait, all are listed.
 */
export function listAhead({ documents, ledger }: Deps): ListPage {
  let found: Promise<string[] | undefined> | undefined;
  return async ({ before, limit }) => {
    found ??= findAhead({ documents, ledger });
    const ids = await found;
    if (ids === undefined) return ledger.list({ state: "WAITING", before, limit });
    const left = before === undefined ? ids : ids.filter((id) => id < before);
    const some = left.slice(0, limit);
    const { rows, unreadable } = await ledger.read(some);
    const newest = rows.toSorted((one, other) => (one.id < other.id ? 1 : -1));
    const next = left.length > limit ? some.at(-1) : undefined;
    return { rows: newest, unreadable: unreadable.size, next };
  };
}

/** Returns the ids of the calls, newest first. Undefined: there are too many. */
async function findAhead({ documents, ledger }: Deps): Promise<string[] | undefined> {
  const { backlogs, isCut } = await listBacklogs(documents);
  const ahead = backlogs.filter(({ value }) => value.isUrgent === true);
  const reads = await readPositions(ahead, ledger);
  if (isCut || reads.some(({ isWhole }) => !isWhole)) return undefined;
  const ids = reads.flatMap(({ positions }) => positions.map(({ id }) => id));
  return ids.toSorted((one, other) => (one < other ? 1 : -1));
}
