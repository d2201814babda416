import { accountNameOf } from "#shared/calls/call-request.ts";
import { backlogOf, type CallRow, waitingLaneOf } from "#shared/calls/call-row.ts";
import { toIndexSet } from "#shared/calls/index-set.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import { dayMs, hourMs, minuteMs } from "#shared/lib/units.ts";
import {
  accountBreakerOf,
  agentAlarmsOf,
  backlogBreakerOf,
  receiverBreakerOf,
  refusalCountersOf,
  refusalsOf,
  shortNameOf,
} from "#shared/policy/breakers.ts";
import { cancellationKeyOf } from "#shared/policy/cancellation-orders.ts";
import { restoreKey, sweepKey, upkeepKey } from "#shared/policy/ledger-epoch.ts";
import { dayKeyOf } from "#shared/policy/day-counts.ts";
import { dispatcherKey } from "#shared/policy/dispatcher.ts";
import { usageKeyOf } from "#shared/policy/usage.ts";
import type { Kind, ValueOf } from "#shared/ports/document-kinds.ts";
import { routeOf } from "./fixture-calls.ts";

/** Epoch of the stored ledger, and of the object store beside it. */
export const epoch = 41;

/** Documents of each kind: by key the value and the time at which it expires. */
type DocumentsOf = { [K in Kind]: Record<string, { value: ValueOf<K>; expiresAt: number | null }> };

/** Kinds whose documents the API and the adapters make themselves. */
export const kindsMadeByUse = [
  "idempotency-key",
  "pause",
  "do-not-call",
  "do-not-call-list",
  "audit",
  "pace",
] as const satisfies Kind[];

/**
 * Makes documents of each kind, apart from those that are made by use. A new kind is a type error here: give it a
 * document, then make the fixture anew by `npm run fixture`.
 */
export function createDocuments(
  rows: Record<string, CallRow>,
  storedAt: number,
): Omit<DocumentsOf, (typeof kindsMadeByUse)[number]> {
  const row = (name: string): CallRow => {
    const found = rows[name];
    if (found === undefined) throw new Error(`there is no call ${name}`);
    return found;
  };
  const ago = (minutes: number) => storedAt - minutes * minuteMs;
  const sales = { client: "crm", agentId: "agent_sales" };
  const later = { client: "crm", agentId: "agent_later" };
  const account = accountNameOf(routeOf("agent_sales"));
  const desk = accountNameOf(routeOf("agent_desk"));
  const within = { expiresAt: storedAt + dayMs };
  const never = { expiresAt: null };
  const open = {
    openedAt: ago(2),
    probeAt: storedAt + hourMs,
    intervalMs: hourMs,
    room: 0,
    blamed: [],
  };
  const agents = new Set(Object.values(rows).map(({ agentId }) => agentId));
  const cap = (times: number[]) => ({
    value: { entries: times.map((at, n) => ({ call: `call_${n}`, claim: `claim_${n}`, at })) },
    expiresAt: storedAt + 30 * dayMs,
  });
  return {
    unlisted: { d6cc2a10: { value: { at: ago(100), removals: 2 }, ...never } },
    "client-audit": {
      "001795795200000#0123456789abcdef0123": {
        value: {
          at: ago(10),
          by: "crm-desk",
          action: "client_cancel",
          target: "request 01",
          times: 3,
          lastAt: ago(5),
        },
        ...never,
      },
    },
    erasure: {
      ["5f".repeat(36)]: {
        value: { at: ago(3), by: "ops", nextAt: storedAt + dayMs },
        expiresAt: storedAt + 105 * dayMs,
      },
    },
    "day-counts": {
      [dayKeyOf({ client: "crm" }, storedAt).key]: { value: { calls: 3, refused: 1 }, ...within },
      [dayKeyOf({ account: desk }, storedAt).key]: { value: { calls: 2 }, ...within },
    },
    "write-counts": {
      '["client and a minute"]': { value: { entries: 61, characters: 18_000 }, ...within },
    },
    split: {
      agent_any: {
        value: {
          key: "0123456789abcdef",
          arms: { agent_sales: 80, agent_desk: 20 },
          since: ago(60),
          verdict: { at: ago(1), arms: { agent_sales: { ended: 1, answered: 1, completed: 0 } } },
        },
        ...never,
      },
    },
    "split-results": {
      [JSON.stringify(["agent_any", ago(60), "agent_sales"])]: {
        value: { ended: 3, answered: 2, completed: 1 },
        ...within,
      },
    },
    gathered: {
      '["client, minute and page"]': { value: { eyJraW5kIjoibGlzdCJ9: 1 }, ...within },
    },
    "sent-file": {
      "client and file": {
        value: {
          client: "crm",
          campaign: "spring",
          round: 1,
          at: ago(30),
          parts: [
            {
              key: "part of a file",
              calls: 3,
              begunAt: ago(29),
              leftOut: "Ag==",
              content: "body of its request",
              attempt: "the first",
              isSent: true,
              requestId: null,
            },
          ],
        },
        ...within,
      },
    },
    client: {
      shop: {
        value: {
          agents: ["*"],
          quota: { callsPerDay: 100 },
          generation: "first",
          createdAt: ago(60),
          changedAt: ago(50),
          by: "ops",
          isRemoved: false,
        },
        ...never,
      },
    },
    token: {
      abcdefghijkl: {
        value: {
          client: "shop",
          generation: "first",
          sha256: "ab".repeat(32),
          keyName: "5f5f5f5f",
          agents: ["*"],
          rights: ["call"],
          isTest: false,
          notAfter: null,
          createdAt: ago(50),
          by: "ops",
          endedAt: null,
          endedBy: null,
          usedAt: ago(40),
        },
        ...never,
      },
    },
    receivers: {
      crm: {
        value: {
          receivers: {
            main: {
              url: "https://receiver.example.com/events",
              types: ["call.ended"],
              echo: ["lead_id"],
              requestsPerSecond: 5,
              secretGeneration: ago(60),
              secretKey: "d6cc2a10",
              rotatedAt: ago(30),
              replayedAt: ago(30),
              createdAt: ago(60),
            },
          },
        },
        ...never,
      },
    },
    deliveries: {
      "own:crm/main": {
        value: {
          next: 2,
          tries: [
            { n: 1, at: ago(1), event: "e.1", type: "call.ended", try: 1, ms: 80, status: 204 },
          ],
        },
        ...within,
      },
    },
    "client-waiting": { crm: { value: { waiting: 2, at: ago(5), calls: 1 }, ...within } },
    "agent-results": {
      agent_sales: {
        value: { answered: "lls", blocked: { "+12025550100": 2 }, since: ago(60) },
        ...within,
      },
    },
    "caller-ids": {
      twilio: {
        value: { numbers: { "+12025550100": { blocked: 3, restsUntil: 0, since: 0 } } },
        ...within,
      },
    },
    "live-calls": {
      [`0 ${desk}`]: {
        value: {
          entries: [
            {
              call: row("live").id,
              claim: row("live").claims[0] ?? "",
              at: ago(2),
            },
          ],
          meanMs: 61_000,
        },
        ...within,
      },
    },
    account: {
      [account]: { value: { busy: false, quick: true }, ...never },
      [desk]: { value: { busy: true, quick: true }, ...never },
    },
    dispatcher: {
      [dispatcherKey.key]: {
        value: {
          holder: "0123456789abcdef0123",
          since: ago(2),
          beatAt: ago(1),
          accounts: {
            [account]: {
              client: "crm",
              agents: { crm: "agent_sales" },
              completed: [2, 3],
              allowance: 8,
              why: null,
              sent: [
                {
                  id: row("dispatched").id,
                  dueAt: row("dispatched").dueAt ?? 0,
                  backlog: backlogOf(sales),
                  at: ago(1),
                },
              ],
            },
          },
        },
        ...never,
      },
    },
    backlog: Object.fromEntries(
      [...agents].flatMap((agentId) =>
        [{}, { isUrgent: true }].map((level) => [
          waitingLaneOf({ client: "crm", agentId, ...level }),
          {
            value: {
              client: "crm",
              mode: "live" as const,
              agentId,
              ...level,
              usedAt: ago(1),
              answers: "quick" as const,
            },
            ...never,
          },
        ]),
      ),
    ),
    breaker: {
      [backlogBreakerOf(later)]: {
        value: { ...open, state: "open", cause: "agent_refused", code: "http_404" },
        ...within,
      },
      [accountBreakerOf(desk)]: {
        value: {
          ...open,
          state: "half_open",
          cause: "unreachable",
          code: "time_out",
          probeAt: ago(1),
          room: 2,
          blamed: [shortNameOf(backlogOf(later))],
        },
        ...within,
      },
      [receiverBreakerOf("crm")]: {
        value: { ...open, state: "half_open", cause: "receiver", code: "http_500", room: 1 },
        ...within,
      },
    },
    lease: { "letter:calls": { value: {}, ...within } },
    counters: {
      [refusalsOf(later)]: {
        value: Object.fromEntries(refusalCountersOf("http_404", "US").map((name) => [name, 3])),
        ...within,
      },
      [agentAlarmsOf(later)]: { value: { at: ago(3) }, ...within },
    },
    receiver: {
      crm: { value: { leaseUntil: 0, nextAt: ago(1), isSlow: false }, ...within },
    },
    cap: {
      [row("capped").numberHash]: cap([ago(300), ago(200), ago(100)]),
      [row("due").numberHash]: cap([ago(2000)]),
    },
    cancellation: {
      [cancellationKeyOf({ request: requestIdOf(row("cancelled").id) }).key]: {
        value: {
          of: { request: requestIdOf(row("cancelled").id) },
          orders: [
            { client: "crm", at: ago(1), by: "crmDesk", indexes: toIndexSet([0]) },
            { client: null, at: ago(1), by: "operator", indexes: null },
          ],
        },
        expiresAt: storedAt + 60 * dayMs,
      },
      [cancellationKeyOf({ agent: "agent_later" }).key]: {
        value: {
          of: { agent: "agent_later" },
          orders: [{ client: null, at: ago(90), by: "operator", indexes: null }],
        },
        expiresAt: storedAt + 60 * dayMs,
      },
    },
    "provider-id": {
      [JSON.stringify([desk, `ring_${row("ended").id}`])]: {
        value: { call: row("ended").id },
        expiresAt: storedAt + 60 * dayMs,
      },
    },
    request: {
      [requestIdOf(row("rejected").id)]: {
        value: {
          client: "crm",
          acceptedAt: row("rejected").acceptedAt,
          calls: 1,
          finished: 1,
          states: { REJECTED: 1 },
          results: {},
          finishedAt: ago(8),
          dueAt: ago(1),
          tries: 1,
        },
        expiresAt: storedAt + 60 * dayMs,
      },
      [requestIdOf(row("due").id)]: {
        value: {
          client: "crm",
          acceptedAt: row("due").acceptedAt,
          calls: 1,
          finished: 0,
          states: {},
          results: {},
          finishedAt: null,
        },
        expiresAt: storedAt + 60 * dayMs,
      },
    },
    "delivered-request": {
      [requestIdOf(row("ended").id)]: { value: { finishedAt: ago(7) }, ...within },
    },
    "look-ups": {
      [`${Math.floor(storedAt / hourMs)}#operator`]: {
        value: { numbers: ["0".repeat(70)] },
        ...within,
      },
    },
    usage: {
      [usageKeyOf(storedAt, {
        client: "crm",
        agentId: "agent_sales",
        labels: { campaign: "spring" },
      }).key]: {
        value: { accepted: 11, PLACED: 7, REJECTED: 2, NEEDS_REVIEW: 2, "@5 completed": 7 },
        expiresAt: storedAt + 60 * dayMs,
      },
    },
    sweep: {
      [sweepKey.key]: {
        value: {
          epoch,
          epochOutside: epoch - 1,
          leaseUntil: ago(1),
          fullRoundAt: ago(1),
          roundBeganAt: ago(1),
          watchAfter: null,
          receivers: ["crm"],
          accounts: { vapi: ago(1) },
          orphanedAt: ago(30),
        },
        ...never,
      },
    },
    replay: {
      "own:crm/main": {
        value: { from: storedAt - 1, until: storedAt, before: null, index: 0 },
        ...never,
      },
    },
    upkeep: {
      [upkeepKey.key]: {
        value: {
          leaseUntil: ago(1),
          walk: {
            after: null,
            isLast: false,
            open: [{ key: '["crm","agent_sales"]', after: { dueAt: 1, id: "0a" } }],
          },
          visitedAt: ago(30),
          counted: 12,
          waiting: { calls: 40, at: ago(90) },
          requestsAfter: null,
          replaysAfter: null,
          erasuresAfter: null,
          journalAfter: null,
          purge: { document: { kind: "cap", key: "a" } },
          purgeBeganAt: ago(30),
          purgedUntil: ago(90),
        },
        ...never,
      },
    },
    restore: {
      [restoreKey.key]: {
        value: {
          state: "done",
          since: ago(50_000),
          epoch: 12,
          at: ago(50_010),
          by: "operator",
          isWatchDone: true,
          lookedUp: 3,
          toReview: 1,
        },
        ...never,
      },
    },
  };
}
