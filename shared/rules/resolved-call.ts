import { getOrMake } from "../lib/get-or-make.ts";
import type { Call, Route } from "../calls/call-request.ts";
import { backlogOf, type CallRow, type ClientAgent } from "../calls/call-row.ts";
import { type ClientOfMode, hashedNumberOf, type Mode } from "../calls/ids.ts";
import { expiryOf } from "../dial-plan/expiry.ts";
import type { ResolvedAccount, RouteTable } from "../dial-plan/route-table.ts";
import { breakerNamesOf } from "../policy/breakers.ts";
import type { DocumentKey, ValueOf } from "../ports/document-kinds.ts";
import type { NumberHashes } from "../telephony/number-hashes.ts";

/** The target of a pause: the calls of an agent, of an account of the dial plan's `providers`, or of a client. */
export type Pausable = ValueOf<"pause">["of"];

/** Names the document of a pause, such as that of `["agent","agent_sales"]`. */
export function pauseKeyOf(what: Pausable): DocumentKey<"pause"> {
  return { kind: "pause", key: JSON.stringify(Object.entries(what)[0]) };
}

/** Names the documents of all pauses that may keep calls of a client and an agent along a route waiting. */
export function pauseKeysOf({ client, agentId }: ClientAgent, route: Route | undefined) {
  const own = [pauseKeyOf({ agent: agentId }), pauseKeyOf({ client })];
  return route === undefined ? own : [...own, pauseKeyOf({ account: route.account })];
}

/** Names a check's breaker, its pace and its connections. */
export function checkBreakerOf(check: string): string {
  return `check:${check}`;
}

/** A service that is asked about each call before its request, such as a check of the plan. */
export interface Service {
  /** Name of its breaker, its pace and its connections. Its breaker is probed by the question to it. */
  name: string;
  /** Maximum rate of questions. 0: the plan has it no more. */
  requestsPerSecond: number;
}

function servicesOf({ checks = [] }: Route, table: RouteTable): Service[] {
  return checks.map((check) => ({
    name: checkBreakerOf(check),
    requestsPerSecond: table.check(check)?.requestsPerSecond ?? 0,
  }));
}

/** A route of a client's calls to an agent, with the account that they are placed under. */
export interface ResolvedRoute {
  route: Route;
  account: ResolvedAccount;
  /** Names of the breakers that the calls must pass: of their account, their backlog and their checks. */
  breakers: readonly string[];
  /** Names of the breakers that the dial request itself probes. A check's breaker is probed by the check's question. */
  probed: readonly string[];
  /** The services that are asked before the request. */
  services: readonly Service[];
  /** Names of the pauses that may keep the calls waiting. */
  pauses: readonly DocumentKey<"pause">[];
}

/** A call with everything that follows from it and the plan, found once. */
export interface ResolvedCall {
  call: Call;
  /** The call's row, as read. Undefined: the call is fresh. */
  row: CallRow | undefined;
  mode: Mode;
  of: ClientAgent;
  /** Name of the backlog of its client and agent. */
  backlog: string;
  /** Undefined: the plan has no route for the agent. */
  target: ResolvedRoute | undefined;
  /** Time at which the call expires unless it is dialed, in milliseconds since the epoch. */
  expiresAt: number;
  /** Hashes of its number. Undefined: the number's documents were not read, and count as absent. */
  hashes: NumberHashes | undefined;
}

/** Resolves the calls of a delivery, a look or a forecast. Those of one client and agent share their route. */
export interface Resolver {
  /** Returns the route of a client's calls to an agent by today's plan. */
  find(of: ClientAgent & ClientOfMode): ResolvedRoute | undefined;
  /** Returns a route of which a row is resent, or of a plan's pool with the number chosen. */
  along(route: Route, of: ClientAgent): ResolvedRoute;
  resolve(call: Call, row: CallRow | undefined): ResolvedCall;
}

/** @param hashesOf returns the hashes of a number (`hashedNumberOf`); undefined where its documents were not read */
export function createResolver(
  table: RouteTable,
  hashesOf: (number: string) => NumberHashes | undefined,
): Resolver {
  const backlogs = new Map<string, Map<string, Resolved>>();

  function find({ client, mode, agentId }: ClientAgent & ClientOfMode): Resolved {
    const ofClient = getOrMake(backlogs, client, () => new Map<string, Resolved>());
    return getOrMake(ofClient, agentId, () => resolveBacklog({ client, mode, agentId }, table));
  }

  return {
    find: (of) => find(of).target,
    along: (route, of) => resolveRoute(route, of, table),
    resolve(call, row) {
      let hashes: NumberHashes | undefined;
      return {
        ...find({ client: call.client, mode: call.mode, agentId: call.request.agent_id }),
        call,
        row,
        expiresAt: expiryOf(call, table.plan),
        // Few decisions need them, and they are hashed under each key.
        get hashes() {
          hashes ??= hashesOf(hashedNumberOf(call));
          return hashes;
        },
      };
    },
  };
}

/** The parts of a resolved call that follow from its client and agent. */
type Resolved = Pick<ResolvedCall, "mode" | "of" | "backlog" | "target">;

function resolveBacklog({ mode, ...of }: ClientAgent & ClientOfMode, table: RouteTable): Resolved {
  const route = table.find({ ...of, mode });
  return {
    mode,
    of,
    backlog: backlogOf(of),
    target: route && resolveRoute(route, of, table),
  };
}

function resolveRoute(route: Route, of: ClientAgent, table: RouteTable): ResolvedRoute {
  const account = table.account(route);
  const probed = breakerNamesOf(of, { account: account.name });
  const services = servicesOf(route, table);
  return {
    route,
    account,
    breakers: [...probed, ...services.map(({ name }) => name)],
    probed,
    services,
    pauses: [...pauseKeysOf(of, route), ...pausesOfSplits(of, table)],
  };
}

/** Names the pauses of the splits of which an agent is an arm: they hold all calls of their arms. */
function pausesOfSplits({ agentId }: ClientAgent, { plan }: RouteTable): DocumentKey<"pause">[] {
  return Object.entries(plan.splits).flatMap(([name, { arms }]) =>
    Object.hasOwn(arms, agentId) ? pauseKeyOf({ agent: name }) : [],
  );
}
