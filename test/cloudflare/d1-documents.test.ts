import { describe, expect, it } from "vitest";
import { permitUseOf, takeLeave, handOutPermits } from "#functions/dialer/record/permit-use.ts";
import { createDialerMemory } from "#functions/dialer/runtime/memory.ts";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { randomId } from "#shared/lib/random.ts";
import { toPace } from "#shared/telephony/rate.ts";
import { describeDocuments } from "../contracts/documents/index.ts";
import { suiteNow } from "../support/call-rows.ts";
import { aDocument, anew } from "../support/documents.ts";
import { countingD1 } from "./counting-d1.ts";
import { testEnv } from "./env.ts";
import { perTier } from "../support/per-tier.ts";

const { LEDGER } = testEnv;

async function createDocuments(now: () => number, database = LEDGER) {
  await LEDGER.prepare("DELETE FROM documents").run();
  return createD1Documents(database, { now, freshVersion: randomId });
}

describeDocuments("D1", (now) => createDocuments(now), { runs: perTier({ quick: 6, long: 20 }) });

it("leaves a process in doubt about others while 0.2.0, which counts none, takes permits too", async () => {
  const documents = await createDocuments(() => suiteNow);
  const pace = toPace(100, 1);
  const use = permitUseOf("a", createDialerMemory());
  /** Takes permits as 0.2.0 does: it writes the document without a count. */
  const takeAsBefore = (at: number, count: number) =>
    LEDGER.prepare(
      `INSERT INTO documents (kind, key, version, value, expires_at) VALUES ('pace', 'main', ?1, ?2, ?3)
      ON CONFLICT (kind, key) DO UPDATE SET version = excluded.version, value = excluded.value`,
    )
      .bind(
        randomId(),
        JSON.stringify({ arrivalUs: at * 1000 + count * pace.intervalUs, granted: count }),
        at + 86_400_000,
      )
      .run();
  for (let at = suiteNow; at < suiteNow + 3_000; at += 100) {
    // Takes of growing numbers, so that a count that begins anew each time grows too.
    const count = 1 + (at - suiteNow) / 100;
    await takeAsBefore(at, 6);
    await handOutPermits(use, {
      pace,
      count,
      leadMs: 0,
      take: (request) => documents.takePermits({ kind: "pace", key: "main" }, pace, request),
      now: () => at,
    });
    expect(takeLeave(use, at - 400, { pace, now: at })).toBeUndefined();
  }
});

describe("D1 as documents: D1's bill", () => {
  it("is a row for each write, each addition and each taking of permits, in one statement", async () => {
    const { database, cost } = countingD1(LEDGER);
    const documents = await createDocuments(() => suiteNow, database);
    const value = { fingerprint: "f", requestId: "r", acceptedAt: 1 };
    const key = aDocument("idempotency-key", "k", value, suiteNow + 86_400_000);
    const failures = { kind: "counters", key: "account main" } as const;
    const window = { notBefore: suiteNow, notAfter: suiteNow + 5000 };
    const works = [
      () => documents.write(anew(key)),
      () => documents.write([{ next: { ...key, version: randomId() }, seen: key.version }]),
      () => documents.add(failures, { answered: 1 }, suiteNow + 1000),
      () => documents.add(failures, { answered: 1, unreachable: 1 }, suiteNow + 1000),
      () =>
        documents.takePermits({ kind: "pace", key: "main" }, toPace(10, 1), {
          ...window,
          count: 7,
        }),
      () =>
        documents.takePermits({ kind: "pace", key: "main" }, toPace(10, 1), {
          ...window,
          count: 7,
        }),
    ];
    for (const work of works) {
      const { read, written, statements } = await cost(work);
      expect([written, statements]).toEqual([1, 1]);
      expect(read).toBeLessThan(15);
    }
    const { written } = await cost(() => documents.write(anew({ ...key, version: randomId() })));
    expect(written).toBe(0); // refused
  });

  it("is as many rows read for a document, a list and permits however many there are", async () => {
    const { database, cost } = countingD1(LEDGER);
    const documents = await createDocuments(() => suiteNow, database);
    const pause = aDocument("pause", "agent a", { of: { agent: "a" }, at: 1, by: "ops" });
    await documents.write(anew(pause));
    const window = { notBefore: suiteNow, notAfter: suiteNow + 5000 };
    const reads = async () => {
      const costs = [
        await cost(() => documents.read([pause, { kind: "cap", key: "none" }])),
        await cost(() => documents.list("pause", { limit: 10 })),
        await cost(() =>
          documents.takePermits({ kind: "pace", key: "a" }, toPace(9, 1), { ...window, count: 1 }),
        ),
        await cost(() => documents.remove([{ kind: "cap", key: "none", seen: "none" }])),
      ];
      return costs.map(({ read }) => read);
    };
    await reads();
    const withFew = await reads();
    await fill(20_000);
    expect(await reads()).toEqual(withFew);
    expect(Math.max(...withFew)).toBeLessThan(15);
  });

  it("purges what has expired with one look through the table, some thousands at a time", async () => {
    const { database, cost } = countingD1(LEDGER);
    const documents = await createDocuments(() => suiteNow, database);
    const pause = aDocument("pause", "agent a", { of: { agent: "a" }, at: 1, by: "ops" });
    await documents.write(anew(pause));
    await fill(5000);
    const { read, statements } = await cost(async () => {
      for (let at = await documents.purge(); at !== undefined;) at = await documents.purge(at);
    });
    expect(statements).toBe(6); // each looks for the end of two thousand, and deletes up to it
    expect(read).toBeLessThan(20_000);
    const count = await LEDGER.prepare("SELECT count(*) AS n FROM documents").first<{
      n: number;
    }>();
    expect(count?.n).toBe(2501);
    expect((await documents.read([pause])).get("pause", "agent a")).toEqual(pause);
  });
});

/** Adds idempotency keys, half of them expired. */
async function fill(count: number): Promise<void> {
  await LEDGER.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
     INSERT INTO documents (kind, key, version, value, expires_at)
     SELECT 'idempotency-key', 'key ' || i, 'v', '{}', CAST(?2 AS INTEGER) + (i % 2) * 1000 FROM n`,
  )
    .bind(count, suiteNow)
    .run();
}
