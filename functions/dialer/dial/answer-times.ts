import { backlogOf } from "../../../shared/calls/call-row.ts";
import type { DocumentChange, DocumentsRead } from "../../../shared/ports/documents.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { accountNameOf } from "../../../shared/calls/route.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { Claim } from "./delivery.ts";

/** Time of an answer from which on an account or a backlog counts as slow, in milliseconds. */
export const slowMs = 2_000;
/** Weight of an answer in the average. */
const answerWeight = 0.3;
/** Minimum interval between writes of one process that say the same. */
const writtenAgainMs = 5_000;

/** Records the time of an answer for its account and its backlog. Never throws. */
export async function recordAnswerTime(
  claim: Claim,
  { answerMs, read }: { answerMs: number; read: DocumentsRead },
  deps: DialerDeps,
): Promise<void> {
  for (const name of namesOf(claim)) {
    const known = deps.memory.answers.get(name);
    const averageMs =
      known === undefined
        ? answerMs
        : known.averageMs + (answerMs - known.averageMs) * answerWeight;
    deps.memory.answers.set(name, { ...known, averageMs });
  }
  await writeChanges(claim, { read, isAnswered: true }, deps);
}

/**
 * Records that a request has been under way for two seconds without an answer. A backlog that was never answered stays so:
 * few of its calls go at once until its first answer. Never throws.
 */
export async function recordSlow(
  claim: Claim,
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<void> {
  for (const name of namesOf(claim)) {
    const known = deps.memory.answers.get(name);
    const averageMs = Math.max(known?.averageMs ?? 0, slowMs + 1);
    deps.memory.answers.set(name, { ...known, averageMs });
  }
  await writeChanges(claim, { read, isAnswered: false }, deps);
}

function namesOf({ dial, row }: Claim): [account: string, backlog: string] {
  return [`account ${accountNameOf(dial.route)}`, `backlog ${backlogOf(row)}`];
}

/** Writes to the documents of account and backlog what has changed. Dropped on a conflict: the next answer tells it again. */
async function writeChanges(
  claim: Claim,
  { read, isAnswered }: { read: DocumentsRead; isAnswered: boolean },
  deps: DialerDeps,
): Promise<void> {
  const { documents, clock, random, memory, log } = deps;
  const [ofAccount, ofBacklog] = namesOf(claim);
  const version = random.version;
  const changes: DocumentChange[] = [];
  const isNews = (name: string, isKnown: (isQuick: boolean) => boolean): boolean | undefined => {
    const times = memory.answers.get(name);
    if (times === undefined) return undefined;
    const isQuick = times.averageMs <= slowMs;
    const { written } = times;
    const isSaid = written?.isQuick === isQuick && clock.now() - written.at < writtenAgainMs;
    if (isKnown(isQuick) || isSaid) return undefined;
    memory.answers.set(name, { ...times, written: { isQuick, at: clock.now() } });
    return isQuick;
  };
  const account = accountNameOf(claim.dial.route);
  const accountRead = read.get("account", account);
  const quick = isNews(ofAccount, (isQuick) => (accountRead?.value.quick ?? false) === isQuick);
  if (quick !== undefined) {
    const value = { busy: false, ...accountRead?.value, quick };
    const next = {
      kind: "account" as const,
      key: account,
      version: version(),
      value,
      expiresAt: null,
    };
    changes.push({ next, seen: accountRead?.version ?? null });
  }
  // A backlog without a document has no rows that wait.
  const backlog = read.get("backlog", backlogOf(claim.row));
  const answers = (isQuick: boolean) => (isQuick ? "quick" : "slow");
  const backlogQuick = isNews(
    ofBacklog,
    (isQuick) =>
      backlog === undefined ||
      backlog.value.answers === answers(isQuick) ||
      (backlog.value.answers === null && !isAnswered),
  );
  if (backlog !== undefined && backlogQuick !== undefined) {
    const value = { ...backlog.value, answers: answers(backlogQuick) } as const;
    changes.push({ next: { ...backlog, version: version(), value }, seen: backlog.version });
  }
  if (changes.length === 0) return;
  await documents.write(changes).catch((error: unknown) => {
    log("warning", "answers.not_recorded", { error: errorForLog(error) });
  });
}
