import { clientNamed, toAccountName } from "#shared/calls/ids.ts";
import { accountOf } from "#test/support/account-of.ts";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { recordResult } from "#shared/calls/record-result.ts";
import { applyClaim, applyDecision, applySettlement } from "#shared/calls/transitions.ts";
import { toItem } from "#shared/aws/dynamodb-rows.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { findReceiver } from "#shared/dial-plan/receivers.ts";
import { indexEvents, withEvents } from "#shared/events/outbox-rows.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { itemBytes } from "#test/bench/dynamo-units.ts";
import { requestOf } from "#test/bench/service.ts";
import { suiteNow } from "#test/support/call-rows.ts";
import { aCall } from "#test/support/calls.ts";
import { apiEnvironment, testPlan } from "#test/support/environment.ts";
import { parseDialPlan } from "#test/support/plans.ts";
import { createSqliteD1 } from "#test/support/sqlite-d1.ts";

const calls = 400;
const route = {
  provider: "twilio",
  account: toAccountName("twilio"),
  baseUrl: "http://127.0.0.1:39341",
  from: "+12025550100",
  stream: "wss://example.com/audio",
} as const;
const events = { "*": { url: "https://example.com/events", types: ["call.ended"] } };
const receiver = findReceiver(clientNamed("crm"), parseDialPlan({ ...testPlan, events }, {}));

/** Steps of a call, beside its claim and its placing. */
interface Life {
  waits?: boolean;
  hasResult?: boolean;
  hasEvent?: boolean;
}

/** Returns the rows of the n-th call one after the other, as the dialer writes them. */
function rowsOf(n: number, { waits, hasResult, hasEvent }: Life): CallRow[] {
  const acceptedAt = suiteNow + n * 40;
  const call = aCall({ acceptedAt, request: requestOf(n) });
  const newCall = { call, ...hashNumber(call.request.phone_number, apiEnvironment.HASH_KEY) };
  const write = (afterMs: number) => ({ version: randomVersion(), at: acceptedAt + afterMs });
  const rows: CallRow[] = [];
  const add = (row: CallRow | undefined): CallRow => {
    if (row === undefined) throw new Error("the transitions do not allow this step");
    rows.push(row);
    return row;
  };
  const decision = { state: "WAITING", reason: "turn", dueAt: acceptedAt } as const;
  const waiting = waits
    ? add(applyDecision(undefined, { newCall, decision }, write(72)))
    : undefined;
  const claim = add(
    applyClaim(waiting, { route, account: accountOf(route), newCall }, write(2453)),
  );
  const settlement = {
    id: call.id,
    claim: claim.version,
    state: "PLACED",
    reason: "placed",
    providerCallId: `CA${randomId()}`,
    at: acceptedAt + 2584,
  } as const;
  const placed = add(applySettlement(claim, settlement, randomVersion()));
  if (!hasResult) return rows;
  const told = {
    status: "completed",
    human: null,
    word: "completed",
    answeredAt: acceptedAt + 4011,
    endedAt: acceptedAt + 9012,
    seconds: 5,
    readAt: acceptedAt + 135_126,
  } as const;
  const ended = recordResult(placed, { result: told, pollAt: 0 }, write(135_135));
  if (!hasEvent) return (add(ended), rows);
  const pending = add(ended && withEvents(ended, receiver));
  const delivered = pending.events.map((event) => ({ ...event, dueAt: undefined }));
  add(indexEvents({ ...pending, version: randomVersion(), events: delivered }, "crm"));
  return rows;
}

describe.each<[string, Life, { d1: number; dynamo: number }]>([
  ["placed at once", {}, { d1: 560, dynamo: 345 }],
  ["that waited", { waits: true }, { d1: 580, dynamo: 355 }],
  ["with its result", { waits: true, hasResult: true }, { d1: 580, dynamo: 385 }],
  [
    "with its result and an event",
    { waits: true, hasResult: true, hasEvent: true },
    { d1: 580, dynamo: 395 },
  ],
])("a call %s", (_, life, most) => {
  const lives = Array.from({ length: calls }, (__, n) => rowsOf(n, life));

  it(`takes at most ${most.d1} bytes of D1 with its indexes`, async () => {
    const { database, bytes } = createSqliteD1();
    const ledger = createD1Ledger(database);
    const empty = bytes();
    const steps = lives[0]?.length ?? 0;
    for (let step = 0; step < steps; step++) {
      const changes = lives.flatMap((rows) => {
        const next = rows[step];
        return next === undefined ? [] : [{ next, seen: rows[step - 1]?.version ?? null }];
      });
      expect(await ledger.write(changes)).not.toContain(false);
    }
    const ofCall = (bytes() - empty) / calls;
    expect(ofCall).toBeLessThanOrEqual(most.d1);
  });

  it(`takes at most ${most.dynamo} bytes of DynamoDB, whose unit has room for half a kilobyte of context`, () => {
    const sizes = lives.map((rows) => itemBytes(toItem(rows.at(-1) ?? fail(), suiteNow)));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(most.dynamo);
  });
});

function fail(): never {
  throw new Error("a call has no row");
}
