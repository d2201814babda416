import type { CallResult } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { CalledBack } from "./callbacks.ts";
import type { Answer } from "./clients.ts";
import { isTelling, listLagMs } from "./lives.ts";
import { waitMinutes } from "./plan.ts";
import type { Placement } from "./placement.ts";
import type { Scenario } from "./scenario.ts";

/** The events of a run against which the promises about results are checked. */
export interface ResultsHappened {
  scenario: Scenario;
  /** Time from which on nothing fails. */
  calmFrom: number;
  /** The rows at the end. */
  rows: readonly CallRow[];
  placements: readonly Placement[];
  /** Last time at which a record was unreadable, by the provider's id. */
  unreadableAt: ReadonlyMap<string, number>;
  callbacks: { given: ReadonlySet<string>; sent: readonly CalledBack[] };
  /** Hashes on the do-not-call list at the end. */
  listed: ReadonlySet<string>;
  /** All messages that were ever on the events queue. */
  messages: readonly EventMessage[];
  answers: readonly Answer[];
}

const waitMs = waitMinutes * 60_000;
/** Maximum time for which a dialer of the previous plan may still be at work, or stand still. */
const oldLifeMs = 2_400_000;
const doorStatuses = new Set([204, 401, 404, 405, 503]);

/** True if a result tells how a call ended. */
export function isEnd(result: CallResult | null): boolean {
  return result !== null && result.status !== "live" && result.status !== "unknown";
}

/** Returns a description of every broken promise about results; empty if all were kept. */
export function resultViolations(happened: ResultsHappened): string[] {
  return [
    ...resultsMissing(happened),
    ...callbacksUnheard(happened),
    ...optOutsLost(happened),
    ...doorBroken(happened),
    ...(happened.scenario.results ? [] : resultsUnpolled(happened)),
  ];
}

/** Checks that each placed call's result is the truth, and that none is left open. */
function resultsMissing(happened: ResultsHappened): string[] {
  const byId = new Map(happened.placements.map((one) => [one.providerCallId, one]));
  return happened.rows.flatMap((row) => {
    const { id, state, lane, dueAt, route, providerCallId, result } = row;
    if (state !== "PLACED") return result === null ? [] : [`result: ${id} is ${state} and has one`];
    if (lane !== null || dueAt !== null) return [`result: ${id} is left to be asked for`];
    // Its result is what a signed callback said, beside a restore, where these are read.
    if (route?.provider === "webhook" && happened.scenario.restore !== undefined) return [];
    const placement = byId.get(providerCallId ?? "");
    if (placement === undefined || route === null || !isTelling(route)) {
      return result === null ? [] : [`result: ${id} has one that nobody told`];
    }
    if (placement.id !== id) return [`result: ${id} is that of ${placement.id}`];
    if (result === null) {
      return mayBeUnpolled(row, happened) ? [] : [`result: ${id} was placed and has none`];
    }
    const { endsAt, status } = placement.life;
    if (result.status === "unknown") {
      return mayBeUnknown(row, placement, happened) ? [] : [`result: ${id} is unknown, ${status}`];
    }
    if (result.status === status && result.endedAt === endsAt) return [];
    return [`result: ${id} is ${result.status}, and was ${status}`];
  });
}

/** True if nobody asks: results are off, or were off in the plan by which the call was settled. */
function mayBeUnpolled({ history }: CallRow, { scenario, calmFrom }: ResultsHappened): boolean {
  if (!scenario.results) return true;
  const settledAt = history.find(({ state }) => state === "PLACED")?.at ?? 0;
  const isOldAround = scenario.oldPlanSeconds > 0;
  return isOldAround && settledAt < calmFrom + oldLifeMs;
}

/** True if the call had not ended by the last asking, or its record could not be read then. */
function mayBeUnknown(
  { claimedAt, providerCallId }: CallRow,
  { life }: Placement,
  { unreadableAt }: ResultsHappened,
): boolean {
  const polledLastAt = (claimedAt ?? 0) + waitMs;
  const unreadable = unreadableAt.get(providerCallId ?? "") ?? 0;
  return life.endsAt + listLagMs > polledLastAt || unreadable >= polledLastAt;
}

/**
 * Checks what a callback promises that was taken once the records showed what it told of, and with nothing failing
 * from then on. A call that is recorded under its own id is PLACED, if the callback's claim is one of its row's; one
 * that had ended has its end told.
 */
function callbacksUnheard({ callbacks, rows, scenario, calmFrom }: ResultsHappened): string[] {
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  return callbacks.sent.flatMap(({ placement, path, at, status }) => {
    if (placement === undefined || status !== 204 || at < calmFrom) return [];
    const row = rowOf.get(placement.id);
    const claim = path.split("/")[4] ?? "";
    if (row === undefined || !row.claims.includes(claim)) return [];
    const { route, placedAt, life, id } = placement;
    const isListed = placedAt + listLagMs <= at;
    if (route.provider === "vapi" && isListed && row.state !== "PLACED") {
      return [`unheard: ${id} is ${row.state} after a callback`];
    }
    const hasEnded = isTelling(route) && life.endsAt + listLagMs <= at;
    const isTold = row.state !== "PLACED" || row.providerCallId === null || isEnd(row.result);
    if (hasEnded && !isTold && scenario.results) {
      return [`unheard: the end of ${id} after a callback: ${row.result?.status}`];
    }
    return [];
  });
}

/** Checks that no opt-out is lost that was taken, whatever became of its call: also if a restore lost its claim or row. */
function optOutsLost({ callbacks, listed }: ResultsHappened): string[] {
  return callbacks.sent.flatMap(({ placement, status, optedOut }) => {
    if (status !== 204 || optedOut === undefined || listed.has(optedOut)) return [];
    return [`an opt-out is lost: that of ${placement?.id}`];
  });
}

/** Checks the answers to callbacks, and that only an address that was given leads to a message. */
function doorBroken({ callbacks, messages, answers }: ResultsHappened): string[] {
  const strange = answers.filter(
    ({ path, status }) => path.startsWith("/callbacks/") && !doorStatuses.has(status),
  );
  const forged = callbacks.sent.filter(
    ({ status, mustBe }) => mustBe !== undefined && status !== undefined && status !== mustBe,
  );
  const known = new Set([...callbacks.given].map((path) => path.split("/").slice(2, 5).join("/")));
  const queued = messages.filter(
    (one) =>
      one.kind === "callback" && !known.has([one.account, one.call?.id, one.call?.claim].join("/")),
  );
  return [
    ...strange.map(({ path, status }) => `callback: ${path} is answered ${status}`),
    ...forged.map(({ path, status }) => `callback: the forged ${path} is answered ${status}`),
    ...queued.map((message) => `callback: ${JSON.stringify(message)} is on the queue`),
  ];
}

/** Checks that nothing is asked and no address is given where results are off. */
function resultsUnpolled({ messages, callbacks }: ResultsHappened): string[] {
  const isAsked = messages.some(({ kind }) => kind !== "deliver");
  if (!isAsked && callbacks.given.size === 0) return [];
  return ["result: somebody asks, though results are off"];
}
