import { freeAt } from "../schedule/frequency-cap.ts";
import { slotsFrom } from "../schedule/pacing.ts";
import type { BoundKey, Hold, Limits } from "./call-ledger.ts";

/** Slots of account ?1: its interval ?2, the tolerance of its burst ?3, now ?4, until ?5, in microseconds; ?6 at most. */
const grantOfSlots = `
INSERT INTO paces (account, arrival_us, granted)
SELECT ?1, base + granted * ?2, granted FROM (
  SELECT base, iif(?5 + ?3 < base, 0, min(?6, CAST((?5 + ?3 - base) / ?2 AS INTEGER) + 1)) AS granted
  FROM (SELECT max(?4, coalesce((SELECT arrival_us FROM paces WHERE account = ?1), 0)) AS base))
WHERE granted > 0
ON CONFLICT (account) DO UPDATE SET arrival_us = excluded.arrival_us, granted = excluded.granted
RETURNING granted, arrival_us`;

/** ?1 number, ?2 call, ?3 time, ?4 caps: the other calls that lie in a cap's period must be fewer than it has. */
const countCall = `
INSERT INTO counted_calls (number_hash, call_id, at)
SELECT ?1, ?2, ?3 WHERE NOT EXISTS (
  SELECT 1 FROM json_each(?4) AS cap WHERE cap.value->>'count' <= (
    SELECT count(*) FROM counted_calls
    WHERE number_hash = ?1 AND call_id <> ?2 AND at > ?3 - (cap.value->>'days') * 86400000))
ON CONFLICT (number_hash, call_id) DO UPDATE SET at = max(at, excluded.at)
RETURNING at`;

export function createD1Limits(database: D1Database): Limits {
  const selectKey = (key: string, now: number) =>
    database
      .prepare("SELECT fingerprint, seed FROM idempotency_keys WHERE key = ?1 AND expires_at > ?2")
      .bind(key, now);

  return {
    async readKey(key, now) {
      return (await selectKey(key, now).first<BoundKey>()) ?? undefined;
    },
    async bindKey(key, { fingerprint, seed }, now, expiresAt) {
      const [, standing] = await database.batch<BoundKey>([
        database
          .prepare(
            `INSERT INTO idempotency_keys (key, fingerprint, seed, expires_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, seed = excluded.seed,
               expires_at = excluded.expires_at WHERE idempotency_keys.expires_at <= ?5`,
          )
          .bind(key, fingerprint, seed, expiresAt, now),
        selectKey(key, now),
      ]);
      const bound = standing?.results[0];
      if (bound === undefined) throw new Error("the idempotency key did not stand after its write");
      return bound;
    },

    async holds() {
      const { results } = await database.prepare("SELECT * FROM holds").all<D1Hold>();
      return results.map(fromD1Hold);
    },
    async strike({ name, code, holdFrom, probeAt, at }) {
      const [, after] = await database.batch<D1Hold>([
        database
          .prepare(
            `INSERT INTO holds (name, code, count, probe_at) VALUES (?1, ?2, 1, iif(1 >= ?3, ?4, NULL))
             ON CONFLICT (name) DO UPDATE SET code = excluded.code,
               count = iif(holds.code = excluded.code, holds.count + 1, 1),
               probe_at = iif(holds.probe_at IS NOT NULL
                 OR iif(holds.code = excluded.code, holds.count + 1, 1) >= ?3, ?4, NULL)
             WHERE holds.probe_at IS NULL OR holds.probe_at <= ?5`,
          )
          .bind(name, code, holdFrom, probeAt, at),
        database.prepare("SELECT * FROM holds WHERE name = ?1").bind(name),
      ]);
      const hold = after?.results[0];
      if (hold === undefined) throw new Error("a strike left no row");
      return fromD1Hold(hold);
    },
    async takeProbe({ name, probeAt }, nextProbeAt) {
      const { meta } = await database
        .prepare(
          "UPDATE holds SET probe_at = ?3, count = count + 1 WHERE name = ?1 AND probe_at IS ?2",
        )
        .bind(name, probeAt, nextProbeAt)
        .run();
      return meta.changes > 0;
    },
    async clearHold(name) {
      await database.prepare("DELETE FROM holds WHERE name = ?1").bind(name).run();
    },

    async reserve(request) {
      const { account, intervalUs, burst, now, until } = request;
      const given = await database
        .prepare(grantOfSlots)
        .bind(
          account,
          intervalUs,
          (burst - 1) * intervalUs,
          now * 1000,
          until * 1000,
          request.count,
        )
        .first<{ granted: number; arrival_us: number }>();
      if (given === null) return [];
      const { granted, arrival_us } = given;
      return slotsFrom(arrival_us - granted * intervalUs, granted, request);
    },
    async count({ numberHash, callId, at, caps }) {
      const [counted, others] = await database.batch<{ at: number }>([
        database.prepare(countCall).bind(numberHash, callId, at, JSON.stringify(caps)),
        database
          .prepare("SELECT at FROM counted_calls WHERE number_hash = ?1 AND call_id <> ?2")
          .bind(numberHash, callId),
      ]);
      if (counted?.results.length === 1) return at;
      const times = others?.results.map((one) => one.at) ?? [];
      // Never `at`: it is not counted, whatever the two arithmetics make of a fraction of a day.
      return Math.max(freeAt(times, caps, at), at + 1);
    },
    async uncount({ numberHash, callId, at }) {
      await database
        .prepare("DELETE FROM counted_calls WHERE number_hash = ?1 AND call_id = ?2 AND at = ?3")
        .bind(numberHash, callId, at)
        .run();
    },
  };
}

interface D1Hold {
  name: string;
  code: string;
  count: number;
  probe_at: number | null;
}

function fromD1Hold({ name, code, count, probe_at }: D1Hold): Hold {
  return { name, code, count, probeAt: probe_at };
}
