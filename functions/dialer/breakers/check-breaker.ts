import { checkBreakerOf } from "#shared/rules/checks.ts";
import type { CheckAnswer } from "#shared/policy/check-answers.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { answerBreaker, createProbe, openBreaker, type Probe } from "./circuit-breaker.ts";
import { failuresLifeMs, resetCounters } from "./failure-counters.ts";

/** Failures in a row that open a check's breaker. */
const failuresMax = 5;

/**
 * Takes the probe of a check's breaker, if the breaker is open.
 *
 * @returns undefined if the breaker is open, and another call has the probe or its time has not come
 */
export async function takeCheckProbe(
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
export async function recordCheckAnswer(
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
