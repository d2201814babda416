import { createNumberHasher } from "#shared/telephony/number-hashes.ts";
import { createHash } from "node:crypto";
import type { Call, Route } from "#shared/calls/call-request.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";
import type { DocumentsRead, StoredText } from "#shared/ports/document-kinds.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import { type RotatedKeys, nameOfKey } from "#shared/lib/rotated-keys.ts";
import type { Chance } from "./random.ts";
import { checkNames, poolNumbers } from "./random-plan.ts";

const causes = ["unreachable", "busy", "full", "account_refused", "agent_refused"] as const;

/** A document's name and value, or undefined: there is none. */
type Made = [kind: StoredText["kind"], key: string, value: object] | undefined;

interface World {
  calls: readonly Call[];
  routes: readonly Route[];
  hashKeys: RotatedKeys;
  now: number;
}

/**
 * Returns the stored documents of a world, each of which may bear on one of its calls.
 *
 * @param obstacle chance of each order, breaker and other obstacle
 */
export function randomDocuments(chance: Chance, obstacle: number, world: World): StoredText[] {
  const orders = world.calls.flatMap((call) => ordersOf(call, chance, { ...world, obstacle }));
  const made = [
    ...orders,
    ...world.routes.flatMap((route) => accountsOf(route, chance, { ...world, obstacle })),
    ...breakersOf(chance, { ...world, obstacle }),
    ...ledgersOf(chance, { ...world, obstacle, isMarked: orders.some(isRare) }),
  ];
  const byName = new Map<string, StoredText>();
  for (const one of made) {
    if (one === undefined) continue;
    const [kind, key, value] = one;
    const json = JSON.stringify(value);
    byName.set(`${kind} ${key}`, { kind, key, version: `v${kind}${key}`, json, expiresAt: null });
  }
  return [...byName.values()];
}

/** True for an erasure and for an entry of one client's calls: who writes one first marks the list, as they are rarely read. */
function isRare(made: Made): boolean {
  const [kind, key = ""] = made ?? [];
  return kind === "erasure" || (kind === "do-not-call" && key.includes(" "));
}

/** Wraps stored documents as a read of all of them. */
export function readOf(
  stored: readonly StoredText[],
  isSuspended: boolean,
): DocumentsRead & { isSuspended: boolean } {
  return { ...toDocumentsRead(stored), isSuspended };
}

type Of = World & { obstacle: number };

/** Orders about a call, its agent, its client and its number. */
function ordersOf(call: Call, { is, one }: Chance, { obstacle, hashKeys, now }: Of): Made[] {
  const { client, acceptedAt, request, ancestors = [] } = call;
  const at = acceptedAt + one([-minuteMs, 0, 1, minuteMs]);
  const order = () => ({
    client: one([null, client, "other"]),
    at: acceptedAt + one([-minuteMs, -1, 0, 9_999, minuteMs]),
    by: "op",
    indexes: null,
  });
  const number = request.phone_number;
  const { own, asked } = createNumberHasher(hashKeys).all(number);
  const pause = (kind: string, name: string): Made =>
    is(obstacle)
      ? [
          "pause",
          JSON.stringify([kind, name]),
          {
            of: { [kind]: name },
            at: now,
            by: "op",
            ...(is(0.5) ? { until: now + one([-1, minuteMs, hourMs]) } : {}),
          },
        ]
      : undefined;
  const requests = [requestIdOf(call.id), ...ancestors.map(requestIdOf)];
  return [
    pause("agent", request.agent_id),
    pause("client", client),
    is(obstacle)
      ? [
          "cancellation",
          JSON.stringify(["agent", request.agent_id]),
          { of: { agent: request.agent_id }, orders: [order()] },
        ]
      : undefined,
    ...requests.map((id): Made =>
      is(obstacle)
        ? [
            "cancellation",
            JSON.stringify(["request", id]),
            { of: { request: id }, orders: [order(), order()] },
          ]
        : undefined,
    ),
    ...asked.flatMap((hash): Made[] => [
      is(obstacle / 2) ? ["do-not-call", hash, { at: now }] : undefined,
      is(obstacle / 2) ? ["do-not-call", `${hash} ${client}`, { at: now }] : undefined,
      is(obstacle / 2)
        ? ["cap", hash, { entries: [{ call: "call_x", claim: "c", at: now - one([1, hourMs]) }] }]
        : undefined,
    ]),
    ...own.map((hash): Made =>
      is(obstacle / 2) ? ["erasure", hash, { at, by: "op", nextAt: now }] : undefined,
    ),
  ];
}

/** The state of an account: load, pace, calls of the day, resting numbers. */
function accountsOf(route: Route, { is, one, below }: Chance, { obstacle, now }: Of): Made[] {
  const names =
    route.url === undefined ? [route.account] : [`${route.account}:${new URL(route.url).origin}`];
  const day = new Date(now).toISOString().slice(0, 10);
  const all = one([hourMs, -1, undefined]);
  const rests = () => now + (all ?? one([hourMs, -1]));
  return [
    ...names.flatMap((name): Made[] => [
      is(0.9) ? ["account", name, { busy: is(obstacle), quick: is(0.85) }] : undefined,
      is(0.6)
        ? ["pace", name, { arrivalUs: (now + one([-5_000, 0, 1_500, 4_900, 9_000])) * 1000 }]
        : undefined,
      is(0.4)
        ? ["day-counts", JSON.stringify(["account", name, day]), { calls: below(7) }]
        : undefined,
      is(0.3)
        ? [
            "live-calls",
            `0 ${name}`,
            {
              entries: [{ call: "call_y", claim: "c", at: now - 1_000 }],
              meanMs: null,
            },
          ]
        : undefined,
    ]),
    is(obstacle)
      ? [
          "pause",
          JSON.stringify(["account", route.account]),
          { of: { account: route.account }, at: now, by: "op" },
        ]
      : undefined,
    is(0.5)
      ? [
          "caller-ids",
          route.account,
          {
            numbers: Object.fromEntries(
              poolNumbers.map((number) => [number, { blocked: 0, restsUntil: rests(), since: 0 }]),
            ),
          },
        ]
      : undefined,
  ];
}

function breakersOf({ is, one, below }: Chance, { obstacle, calls, routes, now }: Of): Made[] {
  const backlogs = calls.map(({ client, request: { agent_id } }) =>
    JSON.stringify([client, agent_id]),
  );
  const accounts = routes.map(({ url, account }) =>
    url === undefined ? account : `${account}:${new URL(url).origin}`,
  );
  const value = (cause: string) => ({
    state: one(["open", "open", "half_open", "closed"]),
    cause,
    code: "code",
    openedAt: now - minuteMs,
    probeAt: now + one([-1_000, 0, 1, 3_000, 4_999, 5_001, hourMs]),
    intervalMs: 10_000,
    room: below(3),
    blamed: backlogs.flatMap((name) => (is(0.3) ? shortNameOf(name) : [])),
  });
  return [
    ...accounts.map((name): Made =>
      is(obstacle) ? ["breaker", `account:${name}`, value(one(causes))] : undefined,
    ),
    ...backlogs.map((name): Made =>
      is(obstacle) ? ["breaker", `backlog:${name}`, value(one(causes))] : undefined,
    ),
    ...checkNames.map((name): Made =>
      is(obstacle) ? ["breaker", `check:${name}`, value("check")] : undefined,
    ),
    ...backlogs.map((name): Made =>
      is(0.5)
        ? [
            "backlog",
            name,
            {
              client: JSON.parse(name)[0],
              agentId: JSON.parse(name)[1],
              usedAt: now,
              answers: one(["quick", "slow", null]),
            },
          ]
        : undefined,
    ),
  ];
}

function shortNameOf(backlog: string): string {
  return createHash("sha256").update(backlog).digest("hex").slice(0, 12);
}

/** The state of the ledger itself: restores, and the keys of the do-not-call list. */
function ledgersOf(
  { is, one }: Chance,
  { obstacle, hashKeys, now, isMarked }: Of & { isMarked: boolean },
): Made[] {
  const { current, former } = hashKeys;
  const keys = [nameOfKey(current), ...(former === undefined ? [] : [nameOfKey(former)])];
  const restore = {
    state: one(["done", "done", "done", "confirmed", "suspended"]),
    since: now - one([-minuteMs, 0, 10 * minuteMs, 4 * hourMs]),
    epoch: 1,
    at: is(0.5) ? now - 6 * hourMs : null,
    by: null,
    isWatchDone: true,
    lookedUp: 0,
    toReview: 0,
  };
  return [
    is(obstacle) ? ["restore", "ledger", restore] : undefined,
    is(0.7) || isMarked
      ? [
          "do-not-call-list",
          "list",
          {
            keys: is(obstacle / 4) ? [...keys, "01234567"] : keys,
            hasClientEntries: is(0.5) || isMarked,
            current: null,
          },
        ]
      : undefined,
    [
      "sweep",
      "sweep",
      { epoch: 0, leaseUntil: 0, fullRoundAt: now, roundBeganAt: now, watchAfter: null },
    ],
    is(0.2) ? ["receiver", "crm", { leaseUntil: 0, nextAt: 0, isSlow: false }] : undefined,
  ];
}
