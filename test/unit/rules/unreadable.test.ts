import { createNumberHasher } from "#shared/telephony/number-hashes.ts";
import { describe, expect, it } from "vitest";
import { decide } from "#functions/dialer/decide/decide-delivered.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { isLedgerSuspended, restoreKey, sweepKey } from "#shared/policy/ledger-epoch.ts";
import type { DocumentKey, StoredText } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import { UnreadableError } from "#shared/ports/unreadable.ts";
import { backlogKeys, callKeys, orders, rareNumberKeys, unreadAlong } from "#shared/rules/gates.ts";
import { createResolver } from "#shared/rules/resolved-call.ts";
import { findVerdict, listKeys } from "#shared/rules/rule.ts";
import { aCall } from "#test/support/calls.ts";
import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";

// A document that only a later version can read must never count as absent. Each judge is asked about a call that it would
// let go without the document.

const now = Date.UTC(2026, 5, 1, 18);
const hashKeys = { current: "5".repeat(64), former: "6".repeat(64) };
const from = { pool: ["+12125550190", "+13035550190"], pick: "callee" };
const plan = parseDialPlan(
  {
    agents: { agent_sales: { provider: "twilio", answerUrl: "https://a.example.com", from } },
    providers: { twilio: { callsPerSecond: 5, callsPerDay: 100 } },
    callingHours: { default: "always" },
    destinations: { allow: ["*"] },
  },
  {},
);
const table = createRouteTable(plan);
const request = { phone_number: "+12025550123", agent_id: "agent_sales" };
const call = aCall({ acceptedAt: now, request });
const resolver = createResolver(table, createNumberHasher(hashKeys).all);
const resolved = resolver.resolve(call, undefined);

const account = {
  kind: "account",
  key: "twilio",
  version: "v",
  json: '{"quick":true,"busy":false}',
  expiresAt: null,
} as const;

/** Returns documents of which one can be read by a later version alone. Without a key, all can be read. */
function documentsWith(later: DocumentKey | undefined) {
  const stored: StoredText[] = [account];
  if (later !== undefined)
    stored.push({ ...later, version: "v", json: '{"at":"later"}', expiresAt: null });
  return toDocumentsRead(stored);
}

function factsWith(later: DocumentKey | undefined) {
  return {
    now,
    at: now,
    documents: { ...documentsWith(later), isSuspended: false },
    table,
    resolver,
    schedule: createSchedule(table, () => undefined),
    ahead: new Map<string, number>(),
    requestsAtOnce: 10,
    canLookUp: () => false,
  };
}

const ofOrders = listKeys([...callKeys, ...rareNumberKeys], [resolved], now);
const ofPauses = (resolved.target?.pauses ?? []).slice();
// Without the document of its account a call waits for its turn in any case.
const judged = [...ofOrders, ...listKeys(backlogKeys, [resolved], now), restoreKey].filter(
  ({ kind }) => kind !== "account",
);

it("a call goes if all of its documents can be read or are absent", () => {
  expect(decide(call, undefined, factsWith(undefined)).kind).toBe("dial");
  expect(findVerdict(orders, resolved, factsWith(undefined))).toBeUndefined();
});

it("the documents of every rule are among those that are tried", () => {
  expect([...new Set(judged.map(({ kind }) => kind))].toSorted()).toEqual([
    "breaker",
    "caller-ids",
    "cancellation",
    "day-counts",
    "do-not-call",
    "do-not-call-list",
    "erasure",
    "pace",
    "pause",
    "restore",
  ]);
});

describe.each(judged.map((one) => [`${one.kind} ${one.key}`, one] as const))(
  "an unreadable %s",
  (_, key) => {
    it("holds a fresh call, which gets a row", () => {
      const decided = { state: "WAITING", reason: "turn", dueAt: now };
      expect(decide(call, undefined, factsWith(key))).toEqual({ kind: "write", decided });
    });
  },
);

it.each([...ofOrders, ...ofPauses])(
  "an unreadable $kind $key is noticed by the last look at a call",
  (key) => {
    expect(() => findVerdict(orders, resolved, factsWith(key))).toThrow(UnreadableError);
  },
);

it("an unreadable breaker along a route keeps its account's calls from a dispatcher, or its backlog's", () => {
  const [ofAccount = "", own = ""] = resolved.target?.probed ?? [];
  const names = ["check:crm", "check:erp"];
  const services = names.map((name) => ({ name, requestsPerSecond: 1 }));
  const route = { probed: [ofAccount, own], services };
  const unread = (key?: string) =>
    unreadAlong(route, {
      documents: documentsWith(key === undefined ? key : { kind: "breaker", key }),
    });
  expect([undefined, ...route.probed, ...names].map(unread)).toEqual([
    undefined,
    "account",
    "backlog",
    "backlog",
    "backlog",
  ]);
});

it.each([restoreKey, sweepKey])("an unreadable $kind is never taken for no restore", (key) => {
  expect(() => isLedgerSuspended(documentsWith(key), 0)).toThrow(UnreadableError);
  expect(isLedgerSuspended(documentsWith(undefined), 0)).toBe(false);
});

it("a document that cannot be read is found, without a value", () => {
  const found = documentsWith(restoreKey).find("restore", restoreKey.key);
  expect(found).toMatchObject({ key: restoreKey.key, version: "v", value: "unreadable" });
  expect(found && isReadable(found)).toBe(false);
  expect(documentsWith(undefined).find("restore", restoreKey.key)).toBeUndefined();
});
