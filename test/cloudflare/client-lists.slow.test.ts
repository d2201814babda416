import { expect, it } from "vitest";
import { firstCallIdAt } from "#shared/calls/ids.ts";
import { usageKeyOf } from "#shared/policy/usage.ts";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { createTestApi } from "../support/api.ts";
import { tokens } from "../support/environment.ts";
import { packedHex } from "../support/packed-hex.ts";
import { countingD1 } from "./counting-d1.ts";
import { testEnv } from "./env.ts";

const { LEDGER } = testEnv;
const everyMs = 20_000;
/** Digits of a time `t` in Crockford's base32, as SQL. */
const timeDigits = Array.from(
  { length: 10 },
  (_, digit) =>
    `substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((t >> ${45 - digit * 5}) & 31) + 1, 1)`,
).join(" || ");

/** The rest of the rows by client and campaign. */
const packed = ["crm", "shop"].flatMap((client) =>
  ["spring", "autumn"].map((campaign) =>
    packedHex({
      reason: "placed",
      client,
      labels: { campaign },
      agentId: "a",
      numberTail: "23",
      updatedAt: 1,
    }),
  ),
);

/** Writes requests of one call: half of a client, half of another one, in the same campaigns. */
async function fill(from: number, to: number, now: number): Promise<void> {
  await LEDGER.prepare(
    `WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1),
       timed(i, t) AS (SELECT i, CAST(?3 AS INTEGER) - i * ${everyMs} FROM n)
     INSERT INTO calls (id, version, number_hash, client, campaign, agent_id, state, accepted_at, row)
     SELECT 'call_' || ${timeDigits} || printf('%016d', i) || '_00000', 'v' || i, CAST('hash_' || i AS BLOB),
       iif(i % 2 = 0, 'crm', 'shop'), iif(i % 4 < 2, 'spring', 'autumn'), 'a', 'PLACED', t,
       unhex(iif(i % 2 = 0, iif(i % 4 < 2, ?4, ?5), iif(i % 4 < 2, ?6, ?7))) FROM timed`,
  )
    .bind(from, to, now, ...packed)
    .run();
}

it("reads as many rows for a page of a client's requests, however many there are", async () => {
  await LEDGER.prepare("DELETE FROM calls").run();
  const { database, cost } = countingD1(LEDGER);
  const now = Date.now();
  const { app } = createTestApi({ ledger: createD1Ledger(database), now: () => now });
  const isoOf = (index: number) => new Date(now - index * everyMs).toISOString();
  const ask = async (query: string) => {
    const headers = { authorization: `Bearer ${tokens.crmDesk}` };
    const response = await app.request(`/v1/requests?limit=20${query}`, { headers });
    const { requests, cursor }: { requests: object[]; cursor?: string } = await response.json();
    return { found: requests.length, isMore: cursor !== undefined };
  };
  const queries = [
    "",
    "&campaign=spring",
    `&to=${isoOf(500)}`,
    `&campaign=autumn&from=${isoOf(900)}&to=${isoOf(100)}`,
    `&cursor=${firstCallIdAt(now - 300 * everyMs)}`,
  ];
  const measure = async () => {
    const costs: object[] = [];
    for (const query of queries) {
      let found: object = {};
      const { read, statements } = await cost(async () => {
        found = await ask(query);
      });
      costs.push({ query, read, statements, ...found });
    }
    return costs;
  };
  await fill(0, 1000, now);
  const few = await measure();
  await fill(1000, 60_000, now);
  expect(await measure()).toEqual(few);
  // D1 bills each listed row once.
  expect(few).toEqual(
    queries.map((query) => ({ query, read: 20, statements: 1, found: 20, isMore: true })),
  );
});

it("reads for a client's usage its own documents alone, in one statement for a month", async () => {
  await LEDGER.prepare("DELETE FROM documents").run();
  const { database, cost } = countingD1(LEDGER);
  const now = Date.now();
  const documents = createD1Documents(database, { now: () => now, freshVersion: () => "v" });
  const { app } = createTestApi({ documents, now: () => now });
  const fillUsage = async (clients: readonly string[]) => {
    const keys = Array.from({ length: 100 }, (_, n) =>
      clients.map((client) => usageKeyOf(now - n * 7 * 3_600_000, { client, agentId: "a" }).key),
    );
    await LEDGER.prepare(
      `INSERT INTO documents (kind, key, version, value, expires_at)
       SELECT 'usage', value, 'v', '{"accepted":1}', ?2 FROM json_each(?1)`,
    )
      .bind(JSON.stringify(keys.flat()), now + 9_000_000)
      .run();
  };
  const from = new Date(now - 29 * 24 * 3_600_000).toISOString().slice(0, 10);
  const measure = async () => {
    let text = "";
    const counted = await cost(async () => {
      const headers = { authorization: `Bearer ${tokens.crmDesk}` };
      text = await (await app.request(`/v1/usage?from=${from}`, { headers })).text();
    });
    const { total }: { total: { accepted: number } } = JSON.parse(text);
    return { ...counted, accepted: total.accepted };
  };
  await fillUsage(["crm"]);
  const alone = await measure();
  expect(alone).toMatchObject({ statements: 1, written: 0, accepted: 100 });
  await fillUsage(Array.from({ length: 60 }, (_, n) => `other ${n}`));
  expect(await measure()).toEqual(alone);
});
