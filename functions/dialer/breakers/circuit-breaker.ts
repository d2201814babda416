import {
  accountBreakerOf,
  agentBreakerOf,
  routeBreakerOf,
} from "../../../shared/documents/breakers.ts";
import type { DocumentsRead } from "../../../shared/documents/documents.ts";
import type { DialOutcome } from "../../../shared/providers/dialing-provider.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import { countAnswer, countRefusal, forgetFailures } from "./breaker-counts.ts";
import type { DialerDeps } from "../context.ts";
import { breakerLifeMs, intervals, type Trouble } from "./probes.ts";

/** The parts of a call that bear on its breakers. */
export interface JudgedCall {
  agentId: string;
  route: Route;
  numberHash: string;
}

/**
 * Counts a provider's answer, and opens or closes breakers accordingly.
 *
 * @param read breakers and failures, as read for the call
 */
export async function keepCount(
  outcome: DialOutcome,
  call: JudgedCall,
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<void> {
  const { agentId, route, numberHash } = call;
  const account = accountBreakerOf(route);
  switch (outcome.kind) {
    case "placed":
      await noteAnswer(route, read, deps);
      await closeBreaker(routeBreakerOf(route), read, deps);
      await closeBreaker(agentBreakerOf(agentId), read, deps);
      return;
    case "unknown":
      return noteSilence(route, outcome.code, read, deps);
    case "account_refused":
      return openBreaker(account, outcome.code, "refusal", read, deps);
    case "route_refused":
      await noteAnswer(route, read, deps);
      return openBreaker(routeBreakerOf(route), outcome.code, "refusal", read, deps);
    case "rejected":
    case "forbidden": {
      await noteAnswer(route, read, deps); // the account works: the provider got as far as judging the call
      if (outcome.kind === "rejected" && outcome.blamesNumber === true) return;
      const isOver = await countRefusal(agentId, outcome.code, numberHash, read, deps);
      return isOver
        ? openBreaker(agentBreakerOf(agentId), outcome.code, "agent", read, deps)
        : undefined;
    }
    case "not_placed":
      // An answer ends the run of failures. Only an answer about a call shows that the account takes calls
      // again.
      if (outcome.unanswered === true) await noteSilence(route, outcome.code, read, deps);
      else await countAnswer(route, true, read, deps);
      return probeSoon(account, outcome.retryAfterSeconds, read, deps);
  }
}

/** Records an answer of an account: closes its breaker if that is open, otherwise counts the answer. */
async function noteAnswer(route: Route, read: DocumentsRead, deps: DialerDeps): Promise<void> {
  const account = accountBreakerOf(route);
  if (read.get("breaker", account)?.value.state === "open") {
    // Behind an agent's or a route's breaker only probes are called up, without marks.
    if (await closeBreaker(account, read, deps)) await restartMarks(accountNameOf(route), deps);
    return;
  }
  await countAnswer(route, true, read, deps);
}

/** Records a request that stayed unanswered. */
async function noteSilence(
  route: Route,
  code: string,
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<void> {
  const isOver = await countAnswer(route, false, read, deps);
  if (isOver) await openBreaker(accountBreakerOf(route), code, "outage", read, deps);
}

/** Opens a breaker, if the copy read is not open. Dropped on a conflict: another process has opened it. */
export async function openBreaker(
  key: string,
  code: string,
  trouble: Trouble,
  read: DocumentsRead,
  { documents, clock, random, log, memory }: DialerDeps,
): Promise<void> {
  const standing = read.get("breaker", key);
  if (standing?.value.state === "open") return;
  const now = clock.now();
  const { first } = intervals[trouble];
  const value = {
    state: "open" as const,
    code,
    trouble,
    openedAt: now,
    probeAt: now + first,
    intervalMs: first,
    closedAt: standing?.value.closedAt ?? 0,
  };
  const version = random.version();
  const next = { kind: "breaker" as const, key, version, value, expiresAt: now + breakerLifeMs };
  const [isOpened] = await documents.write([{ next, seen: standing?.version ?? null }]);
  memory.breakersOpened += 1;
  if (isOpened !== true) return; // another process has opened it
  const due_at = new Date(value.probeAt).toISOString();
  log("alarm", "breaker.opened", { breaker: key, code, due_at });
}

/**
 * Closes an open breaker and resets its counters. Dropped on a conflict.
 *
 * @returns true if it was closed by this
 */
export async function closeBreaker(
  key: string,
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<boolean> {
  const { documents, clock, random, log } = deps;
  let isClosed = false;
  if (read.get("breaker", key)?.value.state === "open") {
    // The breaker is read again: the successful probe has changed it since.
    const standing = (await documents.read([{ kind: "breaker", key }])).get("breaker", key);
    if (standing?.value.state === "open") {
      const value = { ...standing.value, state: "closed" as const, closedAt: clock.now() };
      const next = { ...standing, value, version: random.version() };
      isClosed = (await documents.write([{ next, seen: standing.version }]))[0] === true;
      if (isClosed) log("info", "breaker.closed", { breaker: key });
    }
  }
  await forgetFailures(key, read, deps);
  return isClosed;
}

/**
 * Lets the next probe of an outage come after the first interval again, or after `Retry-After`. A probe that surely
 * phoned nobody costs nobody: intervals grow only because of those that may have. Dropped on a conflict.
 */
async function probeSoon(
  key: string,
  retryAfterSeconds: number | undefined,
  read: DocumentsRead,
  { documents, clock, random }: DialerDeps,
): Promise<void> {
  if (read.get("breaker", key)?.value.state !== "open") return;
  // The breaker is read again: the probe has changed it since.
  const standing = (await documents.read([{ kind: "breaker", key }])).get("breaker", key);
  if (standing?.value.state !== "open" || standing.value["trouble"] !== "outage") return;
  const { first } = intervals.outage;
  const soon = clock.now() + Math.max(first, (retryAfterSeconds ?? 0) * 1000);
  const probeAt = Math.min(standing.value.probeAt, soon);
  const value = { ...standing.value, probeAt, intervalMs: first };
  const next = { ...standing, value, version: random.version() };
  await documents.write([{ next, seen: standing.version }]);
}

/** Voids the marks set before now: the rows they report as called up found a breaker open. */
async function restartMarks(
  account: string,
  { documents, clock, random }: DialerDeps,
): Promise<void> {
  const key = { kind: "account", key: account } as const;
  const standing = (await documents.read([key])).get("account", account);
  if (standing === undefined) return;
  const value = { ...standing.value, restartedAt: clock.now() };
  const next = { ...standing, value, version: random.version() };
  await documents.write([{ next, seen: standing.version }]);
}
