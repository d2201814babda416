import type { DuePlace } from "../../shared/ledger/call-ledger.ts";
import type { StoredDocument } from "../../shared/documents/documents.ts";
import type { Mark } from "../../shared/documents/kinds.ts";
import type { Pace } from "../../shared/schedule/pacing.ts";
import type { ReadyDeps } from "./dialer.ts";
import { sendHints } from "./hints.ts";
import { calledUpKeyOf, nextPermitAt, paceKeyOf } from "./pacing.ts";
import { aheadMs } from "./read-backlogs.ts";

/** A row that was just written WAITING, of an account with a pace. */
export interface Written extends DuePlace {
  backlog: string;
}

type Backlog = StoredDocument<"backlog">;

/**
 * Calls up the first of the rows that were just written, so that nobody waits for a sweep to notice them: where no
 * other row of the account waits to be called up. The marks are moved first; where a mark's write conflicts, nothing
 * of that backlog is called up, and the sweep does it.
 */
export async function callUpFirst(
  account: string,
  pace: Pace,
  rows: readonly Written[],
  deps: ReadyDeps,
): Promise<void> {
  const { documents, clock } = deps;
  const backlogs = [...new Set(rows.map(({ backlog }) => backlog))];
  const read = await documents.read([
    { kind: "account", key: account },
    paceKeyOf(account),
    ...backlogs.map((key) => ({ kind: "backlog", key }) as const),
  ]);
  const standing = read.get("account", account);
  if (standing?.value.rowsRemain === true) return;
  const now = clock.now();
  const notBefore = Math.floor(Math.max(now, nextPermitAt(account, pace, read)));
  if (notBefore > now + aheadMs) return;
  const ordered = rows.toSorted((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1));
  const window = { notBefore, notAfter: now + aheadMs };
  const moments = await documents.takePermits(calledUpKeyOf(account), pace, rows.length, window);
  const turns = ordered.slice(0, moments.length).map((row, index) => ({
    ...row,
    moment: Math.max(row.dueAt, moments[index] ?? now),
  }));
  const remains = moments.length < rows.length;
  if (remains && !(await noteRemaining(account, standing, deps))) return;
  const marked = await moveMarks(
    backlogs.flatMap((key) => read.get("backlog", key) ?? []),
    turns,
    deps,
  );
  await sendHints(
    turns.filter(({ backlog }) => marked.has(backlog)).toSorted((a, b) => a.moment - b.moment),
    deps,
  );
}

/** Notes that rows remain, so that no fresh call overtakes them. False: a sweep has come before. */
async function noteRemaining(
  account: string,
  standing: StoredDocument<"account"> | undefined,
  { documents, random }: ReadyDeps,
): Promise<boolean> {
  const value = { servedLast: "", restartedAt: 0, calledUpMax: 0, ...standing?.value };
  const next = {
    kind: "account" as const,
    key: account,
    version: random.version(),
    value: { ...value, rowsRemain: true },
    expiresAt: null,
  };
  return (await documents.write([{ next, seen: standing?.version ?? null }]))[0] === true;
}

/** Moves the newer mark of each backlog past its last called-up row; answers with the backlogs where that was done. */
async function moveMarks(
  backlogs: readonly Backlog[],
  turns: readonly (Written & { moment: number })[],
  { documents, clock, random }: ReadyDeps,
): Promise<Set<string>> {
  const now = clock.now();
  const changes = backlogs.flatMap((document) => {
    const own = turns.filter(({ backlog }) => backlog === document.key);
    const last = own.at(-1);
    if (last === undefined) return [];
    const until = Math.max(...own.map(({ moment }) => moment));
    const newer: Mark = { dueAt: last.dueAt, id: last.id, until, at: now };
    const value = { ...document.value, newer, older: document.value.newer };
    return { next: { ...document, version: random.version(), value }, seen: document.version };
  });
  const written = await documents.write(changes);
  return new Set(changes.flatMap(({ next }, index) => (written[index] === true ? next.key : [])));
}
