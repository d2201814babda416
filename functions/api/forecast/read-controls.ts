import { type Call, type CallRequest, accountNameOf } from "../../../shared/calls/call-request.ts";
import type { DialPlan } from "../../../shared/dial-plan/plan-schema.ts";
import { accountOf, findRoute } from "../../../shared/dial-plan/dial-plan.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import { type BacklogOf, breakerNamesOf } from "../../../shared/policy/breakers.ts";
import { dispatcherKey } from "../../../shared/policy/dispatcher.ts";
import type { DocumentKey, DocumentsRead } from "../../../shared/ports/document-kinds.ts";
import {
  cancellationKeysOf,
  pauseKeysOf,
  restoreKey,
  moreKeysOf,
  doNotCallKeysOf,
  listIn,
} from "../../../shared/policy/controls.ts";
import { hashesOf } from "../../../shared/telephony/phone-number.ts";
import { liveKeysOf } from "../../../shared/policy/live-calls.ts";
import { paceKeyOf } from "../../../shared/policy/account-pace.ts";
import type { Schedule } from "../../../shared/dial-plan/schedule.ts";
import type { RouteDeps } from "../http/context.ts";
import { numbersReadMax } from "./forecast-schema.ts";
import { type BacklogsRead, readBacklogs } from "./read-backlogs.ts";

/** Maximum agents whose pauses and breakers are read. */
const agentsReadMax = 1_000;

/** A plan with its schedule. */
export interface PlanWithSchedule {
  plan: DialPlan;
  schedule: Schedule;
}

/** The documents that control calls today, and the waiting calls, as far as they were read. */
export interface ControlsRead extends BacklogsRead {
  documents: DocumentsRead;
  /** Hashes of the numbers whose do-not-call entries and caps were read. */
  hashes: ReadonlyMap<string, readonly string[]>;
  /** Times at which these numbers were called, in milliseconds since the epoch. */
  caps: ReadonlyMap<string, readonly number[]>;
  /** Agents whose pauses and breakers were read. */
  agents: ReadonlySet<string>;
}

/**
 * Reads what controls calls: pauses, breakers and paces of their agents and accounts under all given plans,
 * do-not-call entries and caps of at most 1,000 numbers, and the calls that wait for the same accounts; with several
 * plans, all waiting calls.
 */
export async function readControls(
  { requests, client }: { requests: readonly CallRequest[]; client: string },
  plans: readonly PlanWithSchedule[],
  deps: RouteDeps,
): Promise<ControlsRead> {
  const accountsOf = (agentId: string) =>
    plans.flatMap(({ plan }) => {
      const route = findRoute(agentId, plan);
      return route === undefined ? [] : accountNameOf(route);
    });
  const posted = firstOf(
    requests.map(({ agent_id }) => agent_id),
    agentsReadMax,
  );
  const accounts = new Set([...posted].flatMap(accountsOf));
  const read = await readBacklogs(
    (agentId) => plans.length > 1 || accountsOf(agentId).some((account) => accounts.has(account)),
    deps,
  );
  const waiting = read.waiting.filter(({ hasNumber }) => hasNumber).map(({ call }) => call);
  const agents = new Set([...posted, ...read.waiting.map(({ call }) => call.request.agent_id)]);
  const backlogs = new Map<string, BacklogOf>();
  for (const agentId of posted) backlogs.set(backlogOf({ client, agentId }), { client, agentId });
  for (const { call, backlog } of read.waiting) {
    backlogs.set(backlog, { client: call.client, agentId: call.request.agent_id });
  }
  const numbers = [...requests, ...waiting.map(({ request }) => request)];
  const hashes = new Map(
    [
      ...firstOf(
        numbers.map(({ phone_number }) => phone_number),
        numbersReadMax,
      ),
    ].map((number) => [number, hashesOf(number, deps.hashKeys)]),
  );
  const keys: DocumentKey[] = [
    restoreKey,
    ...doNotCallKeysOf([...hashes.values()].flat()),
    ...waiting.flatMap(cancellationKeysOf),
    dispatcherKey,
    ...plans.flatMap((one) => keysOfBacklogs(backlogs.values(), one)),
    ...capKeysOf(numbers, hashes, plans),
  ];
  const once = new Map(keys.map((key) => [`${key.kind} ${key.key}`, key]));
  const first = await deps.documents.read([...once.values()]);
  const calls = [...requests.map((request) => ({ client, request })), ...waiting];
  const listed = calls.filter(({ request }) => hashes.has(request.phone_number));
  const documents = await withClientEntries(first, listed, deps);
  const caps = [...hashes].map(([number, some]): [string, number[]] => {
    const entries = some.flatMap((hash) => documents.get("cap", hash)?.value.entries ?? []);
    const latest = new Map<string, number>();
    for (const { call, at } of entries) latest.set(call, Math.max(at, latest.get(call) ?? 0));
    return [number, [...latest.values()]];
  });
  return { ...read, documents, hashes, caps: new Map(caps), agents };
}

/** Adds the do-not-call entries that are for one client's calls, if there are any. */
async function withClientEntries(
  read: DocumentsRead,
  calls: readonly Pick<Call, "client" | "request">[],
  { documents, hashKeys }: RouteDeps,
): Promise<DocumentsRead> {
  if (listIn(read)?.hasMore !== true) return read;
  const entries = await documents.read(moreKeysOf(calls, hashKeys));
  return { get: (kind, key) => entries.get(kind, key) ?? read.get(kind, key) };
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

/** Names the documents of backlogs and of the accounts that a plan routes their agents to. */
function keysOfBacklogs(backlogs: Iterable<BacklogOf>, { plan }: PlanWithSchedule): DocumentKey[] {
  return [...backlogs].flatMap((of): DocumentKey[] => {
    const route = findRoute(of.agentId, plan);
    if (route === undefined) return pauseKeysOf(of.agentId, route);
    const account = accountNameOf(route);
    return [
      ...pauseKeysOf(of.agentId, route),
      ...breakerNamesOf(of, route).map((key) => ({ kind: "breaker", key }) as const),
      paceKeyOf(account),
      { kind: "account", key: account },
      ...liveKeysOf(account, accountOf(route, plan).liveCalls ?? 0),
    ];
  });
}

/** Names the cap documents of the numbers to which a cap of one of the plans applies. */
function capKeysOf(
  requests: readonly CallRequest[],
  hashes: ReadonlyMap<string, readonly string[]>,
  plans: readonly PlanWithSchedule[],
): DocumentKey[] {
  const isCapped = (request: CallRequest) =>
    plans.some(({ plan, schedule }) => {
      const route = findRoute(request.agent_id, plan);
      return route !== undefined && schedule.capsOf(request, route).caps.length > 0;
    });
  const keys = new Set<string>();
  for (const request of requests) {
    const some = hashes.get(request.phone_number) ?? [];
    if (some.some((key) => !keys.has(key)) && isCapped(request)) {
      for (const key of some) keys.add(key);
    }
  }
  return [...keys].map((key) => ({ kind: "cap", key }));
}
