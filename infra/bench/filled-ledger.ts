/** Ledgers with as many rows as wanted, for the bench of their growth. */
import { randomBytes } from "node:crypto";
import type { Call } from "../../shared/call.ts";
import type { UnclaimedWrite } from "../../shared/ledger/call-ledger.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import { apiEnvironment } from "../../test/support/environment.ts";
import type { CountedCloudflare } from "./counted-cloudflare.ts";
import { type CountedPlatform, requestOf } from "./service.ts";

/** When the calls were accepted, milliseconds since the epoch. */
export const startAt = Date.parse("2026-06-01T12:00:00Z");

/** A call of its own id, accepted when the clock was set. */
export function callOf(n: number, more: Partial<Call> = {}): Call {
  return {
    id: `call_${randomBytes(16).toString("hex")}`,
    requestId: `req_${n % 7}`,
    client: "crm",
    acceptedAt: startAt,
    request: requestOf(n),
    ...more,
  };
}

export const traceOf = ({ request }: Call) =>
  traceOfNumber(request.phone_number, apiEnvironment.HASH_KEY);

/** Of the first thousand rows some wait, are being dialed or are parked; the others have ended, nearly all well. */
const fillOfD1 = `
WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2),
kind(i, state, at) AS (SELECT i, CASE WHEN i < 200 THEN 'DEFERRED' WHEN i < 250 THEN 'DIALING' WHEN i < 350 THEN 'PARKED'
  WHEN i % 25 = 0 THEN 'REJECTED' WHEN i % 40 = 1 THEN 'EXPIRED' ELSE 'PLACED' END, ?3 - 60000 - i * 2000 FROM n)
INSERT INTO calls (id, state, reason, token, attempt, due_at, call, route, provider_call_id, request_id, client,
  agent_id, number_hash, number_tail, accepted_at, claimed_at, updated_at, history)
SELECT 'call_' || printf('%08x', i * 4294) || 'ffffffffffffffffffffffff', state, 'filled', printf('%032x', i), 1,
  CASE WHEN state = 'DEFERRED' THEN ?3 + i * 500 WHEN state = 'DIALING' THEN ?3 + 3600000 END,
  iif(state = 'PLACED', NULL, ?4), '{"provider":"webhook","type":"webhook"}', printf('CA%032x', i),
  'req_filled_' || (i / 50), 'crm', 'agent_' || (i % 7), printf('%08x%056x', (i * 2246822519) & 4294967295, i), '23',
  at, at, at + 1000, '[{"at":1,"state":"DIALING","reason":"claimed"},{"at":2,"state":"PLACED","reason":"placed"}]'
FROM kind`;
const filledAtOnce = 50_000;

/** Fills D1 without its indexes and triggers, which are made again then: much faster. */
export async function fillD1(
  { database }: CountedCloudflare,
  from: number,
  to: number,
): Promise<void> {
  const { results } = await database
    .prepare(
      "SELECT name, type, sql FROM sqlite_master WHERE tbl_name = 'calls' AND type IN ('index', 'trigger') AND sql IS NOT NULL",
    )
    .all<{ name: string; type: string; sql: string }>();
  await database.batch(results.map(({ name, type }) => database.prepare(`DROP ${type} ${name}`)));
  for (let start = from; start < to; start += filledAtOnce) {
    const call = JSON.stringify(callOf(0));
    const end = Math.min(to, start + filledAtOnce);
    await database.prepare(fillOfD1).bind(start, end, startAt, call).run();
  }
  for (const { sql } of results) await database.prepare(sql).run();
}

/** The first of a hundred rows wait and are parked, the others have ended. */
export async function fillDynamo(
  { ledger }: CountedPlatform,
  from: number,
  to: number,
): Promise<void> {
  for (let start = from; start < to; start += 100) {
    const writes = Array.from({ length: Math.min(100, to - start) }, (_, index): UnclaimedWrite => {
      const n = start + index;
      const id = `call_${n.toString(16).padStart(32, "0")}`;
      const call = callOf(n, {
        id,
        acceptedAt: startAt - 60_000 - n * 2000,
        requestId: `req_filled_${n}`,
      });
      const what =
        n < 20
          ? ({ state: "DEFERRED", dueAt: startAt + n * 5000 } as const)
          : ({ state: n < 60 ? "PARKED" : "EXPIRED" } as const);
      const at = call.acceptedAt + 1000;
      return { call, ...traceOf(call), ...what, reason: "filled", at, seenDueAt: null };
    });
    await ledger.defer(writes);
  }
}
