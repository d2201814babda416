import { slowMs } from "#shared/lib/timing.ts";
import { errorForLog } from "#shared/lib/log.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import type { DocumentChange } from "#shared/ports/documents.ts";
import type { ClaimedCall } from "#shared/rules/rule.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Weight of an answer in the average. */
const answerWeight = 0.3;
/** Minimum interval between equal writes of one process. */
const writtenAgainMs = 5_000;

/** A call whose account and backlog are as quick as their answers. */
type Measured = ClaimedCall["dial"];
type SpeedDeps = Pick<DialerDeps, "documents" | "clock" | "random" | "memory" | "log">;

/**
 * Records the time of an answer for its account and its backlog. Never throws.
 *
 * @param checkedMs time of the call's checks, which its backlog's calls take, too
 */
export async function recordAnswerTime(
  call: Measured,
  { answerMs, checkedMs, read }: { answerMs: number; checkedMs: number; read: DocumentsRead },
  deps: SpeedDeps,
): Promise<void> {
  const [account, backlog] = namesOf(call);
  const times = [[account, answerMs] as const, [backlog, answerMs + checkedMs] as const];
  for (const [name, ms] of times) {
    const known = deps.memory.answerTimes.get(name);
    const averageMs =
      known === undefined ? ms : known.averageMs + (ms - known.averageMs) * answerWeight;
    deps.memory.answerTimes.set(name, { ...known, averageMs });
  }
  await writeChanges(call, { read, isAnswered: true }, deps);
}

/**
 * Records that a request has been unanswered for two seconds, or that a call's checks have taken as long, which concerns
 * its backlog alone. A backlog without any answer stays so, as few of its calls may go at once until its first answer.
 * Never throws.
 */
export async function recordSlow(
  call: Measured,
  { of, read }: { of: "request" | "checks"; read: DocumentsRead },
  deps: SpeedDeps,
): Promise<void> {
  for (const name of namesOf(call).slice(of === "checks" ? 1 : 0)) {
    const known = deps.memory.answerTimes.get(name);
    const averageMs = Math.max(known?.averageMs ?? 0, slowMs + 1);
    deps.memory.answerTimes.set(name, { ...known, averageMs });
  }
  await writeChanges(call, { read, isAnswered: false }, deps);
}

function namesOf({ target, backlog }: Measured): [account: string, backlog: string] {
  return [`account ${target.account.name}`, `backlog ${backlog}`];
}

/**
 * Writes changed speeds to the documents of account and backlog. A write is dropped on a conflict, as the next answer
 * repeats it. Never throws: only a later version may be able to read one of the documents.
 */
async function writeChanges(
  call: Measured,
  of: { read: DocumentsRead; isAnswered: boolean },
  deps: SpeedDeps,
): Promise<void> {
  try {
    const changes = listChanges(call, of, deps);
    if (changes.length > 0) await deps.documents.write(changes);
  } catch (error) {
    deps.log("warning", "answers.not_recorded", { error: errorForLog(error) });
  }
}

/** Returns the changes of the documents of account and backlog, by what this process has measured and last written. */
function listChanges(
  call: Measured,
  { read, isAnswered }: { read: DocumentsRead; isAnswered: boolean },
  { clock, random, memory }: Pick<SpeedDeps, "clock" | "random" | "memory">,
): DocumentChange[] {
  const [ofAccount, ofBacklog] = namesOf(call);
  const version = random.version;
  const changes: DocumentChange[] = [];
  const isNews = (name: string, isKnown: (isQuick: boolean) => boolean): boolean | undefined => {
    const times = memory.answerTimes.get(name);
    if (times === undefined) return undefined;
    const isQuick = times.averageMs <= slowMs;
    const { written } = times;
    const isSaid = written?.isQuick === isQuick && clock.now() - written.at < writtenAgainMs;
    if (isKnown(isQuick) || isSaid) return undefined;
    memory.answerTimes.set(name, { ...times, written: { isQuick, at: clock.now() } });
    return isQuick;
  };
  const account = call.target.account.name;
  const accountRead = read.get("account", account);
  const quick = isNews(ofAccount, (isQuick) => (accountRead?.value.quick ?? false) === isQuick);
  if (quick !== undefined) {
    const value = { ...accountRead?.value, quick };
    const next = {
      kind: "account" as const,
      key: account,
      version: version(),
      value,
      expiresAt: null,
    };
    changes.push({ next, seen: accountRead?.version ?? null });
  }
  // A backlog without a document has no waiting rows.
  const backlog = read.get("backlog", call.backlog);
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
  return changes;
}
