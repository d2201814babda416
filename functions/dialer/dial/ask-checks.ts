import { checkAnswerMsMin, checksMsMax, slowMs } from "#shared/lib/timing.ts";
import type { CallRow, PassedCheck } from "#shared/calls/call-row.ts";
import type { Check } from "#shared/dial-plan/checks.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { checkBreakerOf } from "#shared/rules/resolved-call.ts";
import { takeOneOf } from "../record/permits.ts";
import { type CheckAnswer, retryCheckAt, waitUntil } from "#shared/policy/check-answers.ts";
import type { ControlDocuments } from "#shared/policy/ledger-epoch.ts";
import { inTurn, peeks, unprobed } from "#shared/rules/gates.ts";
import type { Verdict } from "#shared/rules/rule.ts";
import { putEntries } from "#shared/policy/dnc-entries.ts";
import { readRemovals } from "#shared/policy/listing-order.ts";
import { appendListed } from "#shared/policy/journal-entries.ts";
import { toPace } from "#shared/telephony/rate.ts";
import {
  answerBreaker,
  createProbe,
  openBreaker,
  type Probe,
} from "../breakers/circuit-breaker.ts";
import { failuresLifeMs, resetCounters } from "../breakers/failure-counters.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { Slot } from "../runtime/fair-semaphore.ts";
import { findObstacle } from "./claim.ts";
import type { DialBatch } from "./dial-batch.ts";
import { toQuestion } from "./question.ts";
import { recordSlow } from "../record/answer-times.ts";

/** A check's answer, or why the check was not asked. */
type Outcome = { name: string; at: number } & (
  | CheckAnswer
  | { decision: "unasked"; verdict: Verdict }
);

/**
 * Asks the checks of a call's agent, all at once and before the claim, so that no answer makes the call's outcome unknown.
 * A call that may not be dialed for another reason is not asked about.
 *
 * @returns the call with the permission of all checks, or why it may not be dialed
 */
export async function askChecks(dial: Dial, batch: DialBatch): Promise<Dial | Verdict> {
  const { deps, documents } = batch;
  const { clock } = deps;
  const names = dial.target.route.checks;
  if (names === undefined) return dial;
  await clock.sleep(dial.dialAt - clock.now());
  const obstacle = (await findObstacle(dial, batch)) ?? (await peek(dial, batch));
  if (obstacle !== undefined) return obstacle;
  const startedAt = clock.now();
  const read = await documents(startedAt);
  const slow = watchSlow(dial, read, batch);
  const outcomes = await Promise.all(
    names.map((name) => ask(name, { dial, read, until: startedAt + checksMsMax }, batch)),
  ).finally(() => slow.end());
  const decided = await decideByChecks(outcomes, dial, batch);
  if (decided !== undefined) return decided;
  const checks = outcomes.flatMap(toPassed);
  const ends = checks.map(({ check, at }) => at + validMsOf(check, batch));
  const permission = { checks, validUntil: Math.min(...ends), ms: clock.now() - startedAt };
  return Object.assign(dial, { permission });
}

/** Returns the first verdict of rules that look without taking anything: the call takes what it needs later, under its claim. */
async function peek(
  dial: Dial,
  { caps, deps: { clock } }: DialBatch,
): Promise<Verdict | undefined> {
  for (const one of peeks) {
    const verdict = await one(dial, { caps, clock });
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

/** Notes after two seconds that the calls of this backlog are slow, so that they share no delivery with others. */
function watchSlow(dial: Dial, read: ControlDocuments, { deps }: DialBatch) {
  let isUnderWay = true;
  void deps.clock.sleep(slowMs).then(() => {
    return isUnderWay && dial.row !== undefined
      ? recordSlow(dial, { of: "checks", read }, deps)
      : undefined;
  });
  return { end: () => void (isUnderWay = false) };
}

/** Asks one check, unless its last permission is still valid. Its pace, a connection and its breaker come first. */
async function ask(
  name: string,
  { dial, read, until }: { dial: Dial; read: ControlDocuments; until: number },
  batch: DialBatch,
): Promise<Outcome> {
  const { deps } = batch;
  const { clock, settings, log } = deps;
  const valid = findValid(name, dial.row, batch);
  if (valid !== undefined) return { decision: "call", name, ...valid };
  const check = settings.table.check(name);
  const unasked = (verdict: Verdict): Outcome => ({
    decision: "unasked",
    verdict,
    name,
    at: clock.now(),
  });
  // An UNKNOWN row keeps its first route, whose check the plan may have lost.
  if (check === undefined) return { decision: "failed", code: "check_gone", name, at: clock.now() };
  const limitMs = check.timeoutSeconds * 1000;
  const askBy = until - Math.min(limitMs, checkAnswerMsMin);
  const permitAt = await takePermit(name, { check, askBy }, batch);
  if (permitAt === undefined) return unasked(inTurn);
  await clock.sleep(permitAt - clock.now());
  using connection = await connect(name, askBy, batch);
  if (connection === undefined) return unasked(inTurn);
  await using probe = await takeCheckProbe(name, read, deps);
  if (probe === undefined) return unasked(unprobed);
  const sentAt = clock.now();
  if (sentAt > askBy) return unasked(inTurn);
  const to = { check: name, url: check.url, limitMs: Math.min(limitMs, until - sentAt) };
  const question = toQuestion(dial, to, deps);
  const answer = await (settings.askCheck?.(question) ?? noAnswer);
  probe.spend();
  if (answer.decision === "failed") {
    log("warning", "check.failed", {
      call_id: dial.call.id,
      breaker: checkBreakerOf(name),
      code: answer.code,
    });
  }
  await recordCheckAnswer(answer, { check: name, sentAt, read }, deps).catch((error: unknown) =>
    log("warning", "breaker.update_failed", {
      breaker: checkBreakerOf(name),
      error: errorForLog(error),
    }),
  );
  return { ...answer, name, at: sentAt };
}

const noAnswer = { decision: "failed", code: "not_configured" } as const;

/** Returns a check's permission from the call's last claim, if it is still valid. */
function findValid(
  name: string,
  row: CallRow | undefined,
  batch: DialBatch,
): Pick<PassedCheck, "at" | "evidence"> | undefined {
  const now = batch.deps.clock.now();
  const last = row?.history.findLast((step) => step.checks !== undefined)?.checks;
  return last?.find(
    ({ check, at }) => check === name && at <= now && now <= at + validMsOf(check, batch),
  );
}

function validMsOf(name: string, { deps }: DialBatch): number {
  return (deps.settings.table.check(name)?.validSeconds ?? 0) * 1000;
}

/** Takes a permit of the check's pace. Undefined: there is none in time. */
async function takePermit(
  name: string,
  { check, askBy }: { check: Check; askBy: number },
  { deps: { documents, clock } }: DialBatch,
): Promise<number | undefined> {
  const pace = toPace(check.requestsPerSecond, 1);
  const window = { count: 1, notBefore: clock.now(), notAfter: askBy };
  return takeOneOf(checkBreakerOf(name), { pace, window }, documents);
}

/** Takes a connection for a check. Undefined: there was none in time. */
async function connect(
  name: string,
  askBy: number,
  { connections, deps: { clock } }: DialBatch,
): Promise<Slot | undefined> {
  const acquired = connections.acquire(checkBreakerOf(name));
  const isLate = clock.sleep(askBy - clock.now()).then(() => "late" as const);
  const first = await Promise.race([acquired, isLate]);
  if (first !== "late") return first;
  void acquired.then((slot) => slot?.release());
  return undefined;
}

/** Decides by all answers: the strictest one counts. Undefined: every check permits the call. */
async function decideByChecks(
  outcomes: readonly Outcome[],
  { call, row, expiresAt }: Dial,
  { deps }: DialBatch,
): Promise<Verdict | undefined> {
  const { clock, settings } = deps;
  const find = <Decision extends Outcome["decision"]>(decision: Decision) =>
    outcomes.find(
      (one): one is Extract<Outcome, { decision: Decision }> => one.decision === decision,
    );
  const now = clock.now();
  const never = find("never");
  if (never !== undefined) {
    // The do-not-call entry comes first: if the row is not written, the list ends the call. The journal comes before
    // the entry, because nothing asks again about a call that the list has ended.
    const listed = settings.numbers.trace(call.request.phone_number).numberHash;
    const [removals] = await appendListed([listed], deps);
    await putEntries([listed], deps);
    const [removalsSince] = await readRemovals([listed], deps);
    // An entry that is written after a removal wins over it.
    if (removalsSince !== removals) await appendListed([listed], deps);
    return { kind: "end", state: "REJECTED", reason: `check_never:${never.name}` };
  }
  const refused = find("refuse");
  if (refused !== undefined) {
    const reason = `check_refused:${refused.name}:${refused.reason}`;
    return { kind: "end", state: "REJECTED", reason };
  }
  const failed = find("failed");
  if (failed !== undefined) {
    const reason = `check_failed:${failed.name}`;
    const time = { now, firstMs: deps.sweepSeconds * 1000 };
    const again = retryCheckAt(row ?? { reason: "", history: [] }, reason, time);
    return { kind: "later", reason, at: Math.min(again, expiresAt) };
  }
  const waits = outcomes.filter((one) => one.decision === "wait");
  const [first] = waits;
  if (first !== undefined) {
    const until = Math.max(...waits.map((one) => one.until));
    const at = waitUntil(until, { now, expiresAt });
    return { kind: "later", reason: `check_wait:${first.name}`, at };
  }
  const unasked = find("unasked");
  if (unasked === undefined) return undefined;
  return { kind: "hold", reason: unasked.verdict.reason, firstDueAt: now };
}

function toPassed(outcome: Outcome): PassedCheck[] {
  if (outcome.decision !== "call") return [];
  const { name, at, evidence } = outcome;
  return [{ check: name, at, ...(evidence === undefined ? {} : { evidence }) }];
}

/** Failures in a row that open a check's breaker. */
const failuresMax = 5;

/**
 * Takes the probe of a check's breaker, if the breaker is open.
 *
 * @returns undefined if the breaker is open, and another call has the probe or its time has not come
 */
async function takeCheckProbe(
  check: string,
  read: DocumentsRead,
  deps: Pick<DialerDeps, "clock" | "documents" | "random">,
): Promise<Probe | undefined> {
  const probe = createProbe(undefined, deps);
  const breaker = read.get("breaker", checkBreakerOf(check));
  if (breaker === undefined || breaker.value.state === "closed") return probe;
  return (await probe.take([breaker])) ? probe : undefined;
}

/** Records a check's answer. Five failures in a row open its breaker, and a valid answer closes it. */
async function recordCheckAnswer(
  answer: CheckAnswer,
  { check, sentAt, read }: { check: string; sentAt: number; read: DocumentsRead },
  deps: Pick<DialerDeps, "clock" | "documents" | "log" | "random" | "memory">,
): Promise<void> {
  const key = checkBreakerOf(check);
  if (answer.decision === "failed") {
    const expiresAt = deps.clock.now() + failuresLifeMs;
    const counters = await deps.documents.add({ kind: "counters", key }, { inRow: 1 }, expiresAt);
    if ((counters["inRow"] ?? 0) < failuresMax) return;
    await openBreaker(key, { cause: "check", code: answer.code, sentAt }, deps);
    return;
  }
  const breaker = read.get("breaker", key);
  if (breaker !== undefined) await answerBreaker(breaker, { isPlaced: true, sentAt }, deps);
  const counted = read.get("counters", key)?.value ?? {};
  if (Object.keys(counted).length > 0) await resetCounters(key, deps);
}
