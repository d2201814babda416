import { backlogOf } from "#shared/calls/call-row.ts";
import {
  accountBreakerOf,
  agentAlarmsOf,
  backlogBreakerOf,
  numbersBlamed,
  refusalsOf,
  shortNameOf,
} from "#shared/policy/breakers.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import { type DialOutcome, retryAfterMsMax } from "#shared/providers/provider.ts";
import type { DialerDeps } from "../runtime/context.ts";
import {
  recordAgent,
  wasSeen,
  failuresLifeMs,
  resetCounters,
  writeFailures,
  type Judged,
  type JudgedCall,
  blamedInRowMax,
  countBlamed,
  countRefusal,
  endRefusals,
} from "./failure-counters.ts";
import { countRefusedProbe, isRefusedProbe } from "./refused-probe.ts";
import { answerBreaker, changeBreaker, openBreaker } from "./circuit-breaker.ts";

/** Consecutive unanswered requests that open a backlog's breaker. */
const unreachableInRowMax = 5;
/** From this number of counted requests on, an unanswered half opens the breaker. */
const requestsCounted = 20;
/** Consecutive unanswered requests, of at least two backlogs, that open the account's breaker. */
const accountInRowMax = 10;
/** Consecutive equal refusals, each of a different number, that open a backlog's breaker. */
const refusalsInRowMax = 20;

/**
 * Records a provider's answer, and opens or closes breakers by the rules of breaker-causes.ts: first the backlog's,
 * then the account's.
 */
export async function recordOutcome(
  outcome: DialOutcome,
  judged: Judged,
  deps: Pick<DialerDeps, "documents" | "settings" | "clock" | "random" | "log" | "memory">,
): Promise<void> {
  const { call, read } = judged;
  const { route, sentAt } = call;
  const backlog = backlogBreakerOf(call);
  // A webhook's URL belongs to one agent, so its refusal of "the account" concerns no other backlog.
  const account = route.provider === "webhook" ? backlog : accountBreakerOf(call.account);
  switch (outcome.kind) {
    case "placed":
      await recordAnswer(judged, { isPlaced: true }, deps);
      return recordAgent(call, deps);
    case "unknown":
      return recordTimeout(outcome.code, call, deps);
    case "account_refused":
      await openBreaker(account, { cause: "account_refused", code: outcome.code, sentAt }, deps);
      return;
    case "route_refused":
      if (outcome.isAbsent === true && (await wasSeen(call, deps))) {
        await countAnswered(backlog, read, deps);
        await openBreaker(backlog, { cause: "busy", code: outcome.code, sentAt }, deps);
        return;
      }
      await recordAnswer(judged, { isPlaced: false }, deps);
      await openBreaker(
        backlog,
        { cause: "agent_refused", code: outcome.code, sentAt, alarms: agentAlarmsOf(call) },
        deps,
      );
      return;
    case "rejected":
    case "forbidden": {
      await recordAnswer(judged, { isPlaced: false }, deps); // the provider did answer
      if (isRefusedProbe(outcome, call, read)) await countRefusedProbe(judged, deps);
      if (outcome.kind === "rejected" && outcome.blamesNumber === true) {
        return recordBlamed(judged, deps);
      }
      const { code } = outcome;
      const { inRow, countries } = await countRefusal(code, judged, deps);
      if (inRow < refusalsInRowMax) return;
      const opening = { cause: "calls_refused", code, sentAt, countries, refused: inRow } as const;
      await openBreaker(backlog, opening, deps);
      return;
    }
    case "not_placed": {
      const { code, blamesNumber, isFull, unreachable, retryAfterSeconds = 0 } = outcome;
      if (unreachable === true) return recordTimeout(code, call, deps);
      if (blamesNumber === true) return recordAnswer(judged, { isPlaced: false }, deps);
      await countAnswered(backlog, read, deps);
      const waitMs = Math.min(retryAfterSeconds * 1000, retryAfterMsMax);
      if (isFull === true) {
        await openBreaker(account, { cause: "full", code, sentAt, waitMs }, deps);
      } else if (await openBreaker(backlog, { cause: "busy", code, sentAt, waitMs }, deps)) {
        await blameAccount(code, call, deps);
      }
    }
  }
}

/**
 * Records a refusal that blames the number, which says nothing about the backlog. If the provider blames number after
 * number, their format is wrong.
 */
async function recordBlamed(
  judged: Judged,
  deps: Pick<DialerDeps, "clock" | "documents" | "memory" | "random" | "log">,
): Promise<void> {
  if ((await countBlamed(judged, deps)) < blamedInRowMax) return;
  const { sentAt } = judged.call;
  const refused = blamedInRowMax;
  const opening = { cause: "calls_refused", code: numbersBlamed, sentAt, refused } as const;
  const problem = `${blamedInRowMax} different numbers in a row were blamed and none was placed: check the numbers' format`;
  await openBreaker(backlogBreakerOf(judged.call), { ...opening, problem }, deps);
}

/** Records an answer about a call: it ends runs of failures, and may close the breakers of its backlog and account. */
async function recordAnswer(
  { call, read }: Judged,
  { isPlaced }: { isPlaced: boolean },
  deps: Pick<DialerDeps, "clock" | "documents" | "log" | "memory" | "random">,
): Promise<void> {
  const { account, sentAt } = call;
  for (const name of [accountBreakerOf(account), backlogBreakerOf(call)]) {
    const breaker = read.get("breaker", name);
    if (breaker === undefined) continue;
    await answerBreaker(breaker, { isPlaced, sentAt }, deps);
    const { cause } = breaker.value;
    if (isPlaced && cause === "agent_refused") await resetCounters(agentAlarmsOf(call), deps);
  }
  await resetFailures({ key: accountBreakerOf(account), sentAt }, read, deps);
  await countAnswered(backlogBreakerOf(call), read, deps);
  if (isPlaced) await endRefusals(refusalsOf(call), read, deps);
}

/** Counts an answered request if failures are being counted. Otherwise there is no run to end. */
async function countAnswered(
  key: string,
  read: DocumentsRead,
  deps: Pick<DialerDeps, "documents" | "clock" | "random">,
): Promise<void> {
  if ((read.get("counters", key)?.value["unreachable"] ?? 0) === 0) return;
  const name = { kind: "counters", key } as const;
  await deps.documents.add(name, { answered: 1 }, deps.clock.now() + failuresLifeMs);
  await settleCounters(key, true, deps);
}

/** Resets the counters of a key, if as read they count a run that began before this request. */
async function resetFailures(
  { key, sentAt }: { key: string; sentAt: number },
  read: DocumentsRead,
  deps: Pick<DialerDeps, "documents" | "random">,
): Promise<void> {
  const failures = read.get("counters", key);
  const { since = 0, ...counted } = failures?.value ?? {};
  if (failures === undefined || Object.keys(counted).length === 0 || sentAt < since) return;
  await writeFailures(failures, {}, deps);
}

/** Records a request that stayed unanswered. */
async function recordTimeout(
  code: string,
  call: JudgedCall,
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "memory" | "log">,
): Promise<void> {
  const { documents, clock } = deps;
  const key = backlogBreakerOf(call);
  const expiresAt = clock.now() + failuresLifeMs;
  const all = await documents.add(
    { kind: "counters", key },
    { unreachable: 1, inRow: 1 },
    expiresAt,
  );
  const { answered = 0, unreachable = 0, inRow = 0 } = all;
  const count = answered + unreachable;
  // The counts decide even if halving them fails.
  if (count > requestsCounted) await settleCounters(key, false, deps).catch(() => undefined);
  const isHalf = count >= requestsCounted && unreachable >= answered;
  if (inRow >= unreachableInRowMax || isHalf) {
    const { sentAt } = call;
    if (await openBreaker(key, { cause: "unreachable", code, sentAt }, deps)) {
      await blameAccount(code, call, deps);
    }
  }
  await countForAccount(code, call, deps);
}

/** Ends the run of failures after an answer, and halves the counts above twenty, so that old ones weigh less. */
async function settleCounters(
  key: string,
  isAnswered: boolean,
  deps: Pick<DialerDeps, "documents" | "random">,
): Promise<void> {
  const name = { kind: "counters", key } as const;
  const current = (await deps.documents.read([name])).get("counters", key);
  if (current === undefined) return;
  const { answered = 0, unreachable = 0, inRow = 0 } = current.value;
  const half = answered + unreachable > requestsCounted ? 2 : 1;
  const value = {
    answered: Math.floor(answered / half),
    unreachable: Math.floor(unreachable / half),
    inRow: isAnswered ? 0 : inRow,
  };
  await writeFailures(current, value, deps);
}

/**
 * Records in the account's breaker that this backlog's breaker has opened. If another backlog's has opened, and no
 * call of the account was answered since, the account's breaker opens.
 */
async function blameAccount(
  code: string,
  call: JudgedCall,
  deps: Pick<DialerDeps, "clock" | "documents" | "random" | "log" | "memory">,
): Promise<void> {
  const key = accountBreakerOf(call.account);
  const name = shortNameOf(backlogOf(call));
  const now = deps.clock.now();
  let blamed: string[] = [];
  await changeBreaker(
    key,
    (value) => {
      // An answer to any backlog of the account removes the breaker, and this list with it.
      blamed = [...(value?.blamed ?? []).filter((one) => one !== name), name];
      if (value !== undefined && value.state !== "closed") return { ...value, blamed };
      const openedAt = blamed.length === 1 ? now : (value?.openedAt ?? now);
      const of = { state: "closed", cause: "unreachable", code, openedAt } as const;
      return { ...of, probeAt: now, intervalMs: 0, room: 0, blamed };
    },
    deps,
  );
  if (blamed.length < 2) return;
  await openBreaker(key, { cause: "unreachable", code, sentAt: call.sentAt, blamed }, deps);
}

/**
 * Counts an unanswered request for its account: ten in a row, of at least two backlogs, open the account's breaker.
 * Only requests sent after the run's first failure was known count, because a burst's quick failures arrive before
 * its successes.
 */
async function countForAccount(
  code: string,
  call: JudgedCall,
  deps: Pick<DialerDeps, "documents" | "clock" | "random" | "log" | "memory">,
): Promise<void> {
  const { documents, clock } = deps;
  const key = accountBreakerOf(call.account);
  const name = { kind: "counters", key } as const;
  const current = (await documents.read([name])).get("counters", key);
  const { since } = current?.value ?? {};
  const of = `of ${shortNameOf(backlogOf(call))}`;
  const expiresAt = clock.now() + failuresLifeMs;
  if (since === undefined) {
    const value = { since: clock.now(), inRow: 1, [of]: 1 };
    const next = { ...name, version: deps.random.version(), value, expiresAt };
    await documents.write([{ next, seen: current?.version ?? null }]);
    return;
  }
  if (call.sentAt < since) return;
  const all = await documents.add(name, { inRow: 1, [of]: 1 }, expiresAt);
  const backlogs = Object.keys(all).filter((one) => one.startsWith("of "));
  if ((all["inRow"] ?? 0) < accountInRowMax || backlogs.length < 2) return;
  const blamed = backlogs.map((one) => one.slice("of ".length));
  await openBreaker(key, { cause: "unreachable", code, sentAt: call.sentAt, blamed }, deps);
}
