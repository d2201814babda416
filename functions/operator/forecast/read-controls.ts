import { clientNamed, type ClientOfMode } from "#shared/calls/ids.ts";
import { type CallRequest, accountNameOf } from "#shared/calls/call-request.ts";
import { backlogOf, type ClientAgent } from "#shared/calls/call-row.ts";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import type { DocumentKey, DocumentsRead } from "#shared/ports/document-kinds.ts";
import { toRead } from "#shared/ports/found-documents.ts";
import {
  type ControlDocuments,
  toControlDocuments,
  upkeepKey,
} from "#shared/policy/ledger-epoch.ts";
import { doNotCallListKey, listIn } from "#shared/policy/number-entries.ts";
import { isSpeedKnown, toSeenPace } from "#shared/policy/account-speed.ts";
import type { Pace } from "#shared/telephony/rate.ts";
import type { RouteDeps } from "#functions/api/http/context.ts";
import { type BacklogsRead, readBacklogs } from "./read-backlogs.ts";
import type { PlanWithSchedule } from "./queued.ts";
import { readNumbers } from "./read-numbers.ts";
import type { NumberHashes } from "#shared/telephony/number-hashes.ts";
import { agentsOf } from "#shared/dial-plan/splits.ts";
import { roundKeyOf } from "#shared/policy/split-rounds.ts";
import { findUnreadList, forecastKeys, orderKeys, requestKeys } from "#shared/rules/gates.ts";
import { distinctKeys, listKeys } from "#shared/rules/rule.ts";
import { createResolver } from "#shared/rules/resolved-call.ts";

/** Maximum agents whose pauses and breakers are read. */
const agentsReadMax = 1_000;
/** Maximum requests whose cancellations are read. */
const requestsReadMax = 2_000;

/** The documents that control calls today, and the waiting calls, as far as they were read. */
export interface ControlsRead extends BacklogsRead {
  documents: ControlDocuments;
  /** Hashes of the numbers whose do-not-call entries and caps were read. */
  hashes: ReadonlyMap<string, NumberHashes>;
  /** Times at which these numbers were called, in milliseconds since the epoch. */
  caps: ReadonlyMap<string, readonly number[]>;
  /** Agents whose pauses and breakers were read. */
  agents: ReadonlySet<string>;
  /** Paces at which accounts were seen to take calls, where slower than the deployed plan's. */
  seenPaces: ReadonlyMap<string, Pace>;
  /** Reason for which every call waits, as the do-not-call list was made under another HASH_KEY. Undefined: it was not. */
  unread: string | undefined;
  /** Accounts that answer slowly, and whose speed was not seen for long enough. */
  unmeasured: ReadonlySet<string>;
}

/** The subject of a forecast: calls to be posted by a client, or all calls that wait. */
export type Asked = { requests: readonly CallRequest[]; client: string } | { allWaiting: true };

/**
 * Reads what controls calls: pauses, breakers and paces of their agents and accounts under all given plans,
 * do-not-call entries and caps of their numbers, and the calls that wait for the same accounts; with several
 * plans, all waiting calls.
 *
 * @param plans the deployed plan last
 */
export async function readControls(
  asked: Asked,
  plans: readonly PlanWithSchedule[],
  deps: RouteDeps,
): Promise<ControlsRead> {
  const { requests, client } = "requests" in asked ? asked : { requests: [], client: "" };
  const { mode } = clientNamed(client);
  const accountsOf = (of: ClientAgent & ClientOfMode) =>
    plans.flatMap(({ table }) => {
      const route = table.find(of);
      return route === undefined ? [] : accountNameOf(route);
    });
  const asIs = firstOf(
    requests.map(({ agent_id }) => agent_id),
    agentsReadMax,
  );
  // A call to a split goes to one of its arms, which each plan may have others of.
  const posted = new Set(
    [...asIs].flatMap((agentId) => plans.flatMap(({ plan }) => agentsOf(agentId, plan))),
  );
  const accounts = new Set([...posted].flatMap((agentId) => accountsOf({ client, mode, agentId })));
  const isAll = plans.length > 1 || "allWaiting" in asked;
  const read = await readBacklogs(
    (of) => isAll || accountsOf(of).some((account) => accounts.has(account)),
    deps,
  );
  const waiting = read.waiting.filter(({ hasNumber }) => hasNumber).map(({ call }) => call);
  const agents = new Set([...posted, ...read.waiting.map(({ call }) => call.request.agent_id)]);
  const backlogs = new Map<string, ClientAgent & ClientOfMode>();
  for (const agentId of posted) {
    backlogs.set(backlogOf({ client, agentId }), { client, mode, agentId });
  }
  for (const { call, backlog } of read.waiting) {
    const { client: of, mode: ofCall, request } = call;
    backlogs.set(backlog, { client: of, mode: ofCall, agentId: request.agent_id });
  }
  const now = deps.clock.now();
  const waitingRequests = firstOf(
    read.waiting.map(({ call }) => call.requestId),
    requestsReadMax,
  );
  const keys: DocumentKey[] = [
    doNotCallListKey,
    dispatcherKey,
    upkeepKey,
    ...[...asIs].flatMap((name) => (posted.has(name) ? [] : roundKeyOf(name))),
    ...waiting.flatMap((call) => orderKeys({ call })),
    ...requestKeys(waitingRequests),
    ...plans.flatMap((plan) => keysUnder(plan, [...backlogs.values()], now)),
  ];
  const controls = await deps.documents.read(distinctKeys(keys));
  const hasClientEntries = listIn(controls)?.hasClientEntries === true;
  const calls = [...requests.map((request) => ({ client, mode, request })), ...waiting];
  const numbers = await readNumbers(calls, { plans, hasClientEntries }, deps);
  const { hashes, caps } = numbers;
  const documents = toControlDocuments(joined(numbers.documents, controls));
  const unread = findUnreadList(controls, deps.numbers.keyNames);
  return { ...read, documents, hashes, caps, agents, unread, ...speedsIn(controls, plans) };
}

/** Names the documents by which the calls of backlogs are decided under a plan. */
function keysUnder(
  { table }: PlanWithSchedule,
  backlogs: readonly (ClientAgent & ClientOfMode)[],
  now: number,
): DocumentKey[] {
  const resolver = createResolver(table, () => undefined);
  const resolved = backlogs.map((of) => ({ of, target: resolver.find(of) }));
  return listKeys(forecastKeys, resolved, now);
}

function joined(one: DocumentsRead, other: DocumentsRead): DocumentsRead {
  return toRead((kind, key) => one.find(kind, key) ?? other.find(kind, key));
}

/** Returns what was seen of the speed of the deployed plan's accounts. */
function speedsIn(
  documents: DocumentsRead,
  plans: readonly PlanWithSchedule[],
): Pick<ControlsRead, "seenPaces" | "unmeasured"> {
  const { table } = plans.at(-1) ?? {};
  const { accounts = {} } = documents.get(dispatcherKey.kind, dispatcherKey.key)?.value ?? {};
  const seenPaces = new Map<string, Pace>();
  const unmeasured = new Set<string>();
  const routes = new Map(
    Object.values(table?.plan.agents ?? {}).map((route) => [accountNameOf(route), route]),
  );
  for (const [account, route] of routes) {
    if (table === undefined) continue;
    const speed = Object.hasOwn(accounts, account) ? accounts[account]?.speed : undefined;
    const seen = speed && toSeenPace(speed, table.account(route).pace);
    if (seen !== undefined) seenPaces.set(account, seen);
    const isSlow = documents.get("account", account)?.value.quick === false;
    if (isSlow && !isSpeedKnown(speed)) unmeasured.add(account);
  }
  return { seenPaces, unmeasured };
}

/** Returns the first `most` distinct values. */
function firstOf(values: readonly string[], most: number): Set<string> {
  const first = new Set<string>();
  for (const value of values) {
    if (first.size === most) break;
    first.add(value);
  }
  return first;
}
