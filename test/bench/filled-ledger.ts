/** Ledgers with any number of rows, for the bench of their growth. */
import { type CallRow, backlogOf } from "#shared/calls/call-row.ts";
import { toCallId, createRequestId } from "#shared/calls/ids.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import { packedHex } from "../support/packed-hex.ts";
import { rowIn } from "../support/rows.ts";
import type { CountedCloudflare } from "./counted-cloudflare.ts";
import { type CountedPlatform, requestOf } from "./service.ts";
import { forgetSweeps } from "./shapes.ts";

/**
 * Initial time of the clock, in milliseconds since the epoch. The calls were accepted before it, one every
 * two seconds.
 */
export const startAt = Date.parse("2026-06-01T12:00:00Z");
const everyMs = 2_000;
const acceptedAt = (n: number) => startAt - 60_000 - n * everyMs;

const client = "crm";
const { agent_id: agentId } = requestOf(0);
const backlog = backlogOf({ client, agentId });

/** Returns a call with a request of its own. */
export function callOf(n: number, at: number) {
  const requestId = createRequestId(at, randomId());
  return {
    id: toCallId(requestId, 0),
    requestId,
    batchCalls: 1,
    client,
    mode: "live" as const,
    acceptedAt: at,
    request: requestOf(n),
  };
}

/** Digits of a time `at` in Crockford's base32, as SQL. */
export const timeDigits = Array.from(
  { length: 10 },
  (_, digit) =>
    `substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((at >> ${45 - digit * 5}) & 31) + 1, 1)`,
).join(" || ");

/** Some of the first thousand rows wait, are being dialed or need review; the others have ended, nearly all well. */
const fillOfD1 = `
WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2),
made(i, at, state) AS (SELECT i, CAST(?3 AS INTEGER) - 60000 - i * ${everyMs},
  CASE WHEN i < 200 THEN 'WAITING' WHEN i < 250 THEN 'DIALING' WHEN i < 350 THEN 'NEEDS_REVIEW'
  WHEN i % 25 = 0 THEN 'REJECTED' WHEN i % 40 = 1 THEN 'EXPIRED' ELSE 'PLACED' END FROM n)
INSERT INTO calls (id, version, number_hash, state, lane, due_at, accepted_at, row, context)
SELECT 'call_' || ${timeDigits} || printf('%016d', i) || '_00000', printf('%020x', i),
  unhex(printf('%08x%064x', (i * 2246822519) & 4294967295, i)), state,
  CASE state WHEN 'WAITING' THEN ?4 WHEN 'DIALING' THEN 'watch' END,
  CASE state WHEN 'WAITING' THEN CAST(?3 AS INTEGER) + i * 500 WHEN 'DIALING' THEN CAST(?3 AS INTEGER) + 3600000 END,
  at, unhex(iif(state = 'PLACED', ?5, ?6)), iif(state = 'PLACED', NULL, unhex(?7))
FROM made`;
const filledAtOnce = 50_000;

/** Fills D1 without its indexes and recreates them afterwards, which is much faster. */
export async function fillD1(platform: CountedCloudflare, from: number, to: number): Promise<void> {
  const { context = {}, ...request } = requestOf(0);
  const rest = {
    reason: "filled",
    client,
    agentId,
    attempt: 1,
    claims: ["0".repeat(20)],
    claimedAt: startAt,
    updatedAt: startAt,
    route: { account: "webhook", provider: "webhook" },
    providerCallId: `CA${"0".repeat(32)}`,
    numberTail: "23",
    history: [
      { at: 1, state: "DIALING", reason: "claimed" },
      { at: 2, state: "PLACED", reason: "placed" },
    ],
  };
  const packed = [rest, { ...rest, request }, context].map(packedHex);
  await fillD1By(platform, from, to, fillOfD1, [startAt, backlog, ...packed]);
}

/**
 * Fills D1 by a statement that makes the rows from ?1 up to ?2.
 *
 * @param bound further parameters of the statement, from ?3 on
 */
export async function fillD1By(
  { database }: CountedCloudflare,
  from: number,
  to: number,
  fill: string,
  bound: readonly unknown[],
): Promise<void> {
  const { results } = await database
    .prepare(
      "SELECT name, sql FROM sqlite_master WHERE tbl_name = 'calls' AND type = 'index' AND sql IS NOT NULL",
    )
    .all<{ name: string; sql: string }>();
  await database.batch(results.map(({ name }) => database.prepare(`DROP INDEX ${name}`)));
  for (let start = from; start < to; start += filledAtOnce) {
    const end = Math.min(to, start + filledAtOnce);
    await database
      .prepare(fill)
      .bind(start, end, ...bound)
      .run();
  }
  for (const { sql } of results) await database.prepare(sql).run();
}

/** Fills DynamoDB: some of the first hundred rows wait or need review, and nine in ten of the others are placed. */
export async function fillDynamo(
  { ledger }: CountedPlatform,
  from: number,
  to: number,
): Promise<void> {
  for (let start = from; start < to; start += 100) {
    const changes = Array.from({ length: Math.min(100, to - start) }, (_, index) => {
      const n = start + index;
      return { next: rowOf(n), seen: null };
    });
    const written = await ledger.write(changes);
    if (written.includes(false)) throw new Error("a row was not written");
  }
}

function rowOf(n: number): CallRow {
  const at = acceptedAt(n);
  const call = callOf(n, at);
  if (n < 20) return rowIn("WAITING", call, { at, dueAt: startAt + n * 5000 });
  if (n < 60) return rowIn("NEEDS_REVIEW", call, { at });
  return rowIn(n % 10 === 0 ? "EXPIRED" : "PLACED", call, { at });
}

/** Makes a sweep find the waiting rows as if it were the first one. */
export async function makeSweepable(platform: CountedPlatform): Promise<void> {
  await forgetSweeps(platform);
  const value = {
    client,
    mode: "live" as const,
    agentId,
    usedAt: startAt,
    answers: "quick" as const,
  };
  const document = { kind: "backlog" as const, key: backlog, value, expiresAt: null };
  await platform.documents.write([{ next: { ...document, version: randomVersion() }, seen: null }]);
}
