/**
 * The rules and the dialing of commit 19e0fb5e, bundled. `test/unit/dialer/as-before.test.ts` compares the present code with
 * them. Arguments are of the present types; results are only compared.
 */
import type { Call, CallRequest, Route } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { Log } from "#shared/lib/log.ts";

export function readDialPlan(value: unknown): { plan: FrozenPlan } | { problems: object[] };
/** A plan as it was parsed then. */
export interface FrozenPlan {
  agents: Record<string, Route>;
}
export interface FrozenSchedule {
  opening(
    request: CallRequest,
    route: Route,
    time: { from: number; until: number },
  ): { at?: number | undefined };
}
export function createSchedule(plan: FrozenPlan, log: Log): FrozenSchedule;
export function toKnown(documents: object, deps: object): { ahead: ReadonlyMap<string, number> };
export function decide(
  delivered: Call | undefined,
  row: CallRow | undefined,
  known: object,
): object;
export function decideFirst(call: Call, reason: "dead_letter" | "restored", known: object): object;
export function findObstacle(dial: object, delivery: object): Promise<object | undefined>;
export function checkControls(claim: object, read: object, deps: object): object | undefined;
export function checkClock(
  claim: object,
  times: { laterMs?: number },
  deps: object,
): object | undefined;
export function dialCalls(
  requested: readonly object[],
  deps: object,
  deadline: number,
): Promise<Set<string>>;
export function dispatch(deps: object, deadline: number): Promise<void>;
export function forecastCalls(posted: object, plan: object, inputs: object): Promise<object>;
export function createHoldersNow(read: object, inputs: object): (waiting: object) => object;
export function findPlanErrors(request: CallRequest, caller: object, settings: object): object[];
export function createDialerMemory(): object;
/** Thrown by a `Send` whose request may not leave. */
export class Withheld extends Error {}
