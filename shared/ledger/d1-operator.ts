import { holdPrefix } from "../orders.ts";
import type { CallState, LoggedAct, OperatorRecords, Order } from "./call-ledger.ts";

const hourMs = 3_600_000;
const orderColumns = "name, at, by, expires_at AS expiresAt";
const holds = `SELECT ${orderColumns} FROM orders WHERE name >= '${holdPrefix}' AND name < '${holdPrefix}\u{10ffff}'`;
/** Of the names ?1, at the time ?2. */
const named = `SELECT ${orderColumns} FROM orders
  WHERE name IN (SELECT value FROM json_each(?1)) AND (expires_at IS NULL OR expires_at > ?2)`;

export function createD1Operator(database: D1Database): OperatorRecords {
  return {
    async counts(from, until) {
      const { results } = await database
        .prepare(
          "SELECT hour, state, count FROM state_counts WHERE hour >= ?1 AND hour < ?2 ORDER BY hour, state",
        )
        .bind(Math.ceil(from / hourMs), Math.ceil(until / hourMs))
        .all<{ hour: number; state: CallState; count: number }>();
      return results;
    },
    async writeCounts() {
      // The triggers have written them.
    },
    async standing(state, most) {
      const found = await database
        .prepare("SELECT count(*) AS count FROM (SELECT 1 FROM calls WHERE state = ?1 LIMIT ?2)")
        .bind(state, most)
        .first<{ count: number }>();
      return found?.count ?? 0;
    },
    async holdOrders() {
      const { results } = await database.prepare(holds).all<Order>();
      return results;
    },
    async ordersNamed(names, now) {
      const { results } = await database
        .prepare(named)
        .bind(JSON.stringify(names), now)
        .all<Order>();
      return results;
    },
    async ordersFor(names, now) {
      const { results } = await database
        .prepare(`${holds} UNION ${named}`)
        .bind(JSON.stringify(names), now)
        .all<Order>();
      return results;
    },
    async giveOrder({ name, at, by, expiresAt }) {
      await database
        .prepare("INSERT OR REPLACE INTO orders (name, at, by, expires_at) VALUES (?1, ?2, ?3, ?4)")
        .bind(name, at, by, expiresAt)
        .run();
    },
    async dropOrder(name) {
      await database.prepare("DELETE FROM orders WHERE name = ?1").bind(name).run();
    },
    async doNotCall(hashes) {
      const { results } = await database
        .prepare(
          "SELECT number_hash FROM do_not_call WHERE number_hash IN (SELECT value FROM json_each(?1))",
        )
        .bind(JSON.stringify(hashes))
        .all<{ number_hash: string }>();
      return new Set(results.map(({ number_hash }) => number_hash));
    },
    async addDoNotCall(hashes, at) {
      await database
        .prepare(
          "INSERT OR IGNORE INTO do_not_call (number_hash, at) SELECT value, ?2 FROM json_each(?1)",
        )
        .bind(JSON.stringify(hashes), at)
        .run();
    },
    async dropDoNotCall(hashes) {
      await database
        .prepare("DELETE FROM do_not_call WHERE number_hash IN (SELECT value FROM json_each(?1))")
        .bind(JSON.stringify(hashes))
        .run();
    },
    async logAct({ id, at, by, act, target, count }) {
      await database
        .prepare(
          "INSERT INTO operator_acts (at, id, by, act, target, count) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .bind(at, id, by, act, target, count ?? null)
        .run();
    },
    async acts({ before, limit }) {
      const { results } = await database
        .prepare(
          `SELECT id, at, by, act, target, count FROM operator_acts WHERE (at, id) < (?1, ?2)
           ORDER BY at DESC, id DESC LIMIT ?3`,
        )
        .bind(before?.at ?? Number.MAX_SAFE_INTEGER, before?.id ?? "", limit)
        .all<Omit<LoggedAct, "count"> & { count: number | null }>();
      return results.map(({ count, ...act }) => (count === null ? act : { ...act, count }));
    },
  };
}
