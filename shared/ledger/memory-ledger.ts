import type {
  BoundKey,
  CallLedger,
  CallRow,
  CallState,
  DueRow,
  HistoryEntry,
  Hold,
  LoggedAct,
  Order,
} from "./call-ledger.ts";
import { holdPrefix } from "../orders.ts";
import { capDaysMax, freeAt } from "../schedule/frequency-cap.ts";
import { grantSlots, slotsFrom } from "../schedule/pacing.ts";
import {
  acted,
  actEntryOf,
  claimed,
  claimEntryOf,
  entryOf,
  settled,
  unclaimed,
} from "./state-machine.ts";

const hourMs = 3_600_000;

/**
 * A ledger in this process's memory, for tests.
 *
 * @param stores takes what holds all that is stored, for a test to look into
 */
export function createMemoryLedger(stores: object[] = []): CallLedger {
  const rows = new Map<string, CallRow>();
  const keys = new Map<string, BoundKey & { expiresAt: number }>();
  const holds = new Map<string, Hold>();
  const hours = new Map<string, { hour: number; state: CallState; count: number }>();
  const orders = new Map<string, Order>();
  const notCalled = new Set<string>();
  const acts = new Map<string, LoggedAct>();
  let sweptAt: number | undefined;
  /** The theoretical arrival time of each account's next call. */
  const arrivals = new Map<string, number>();
  /** Times of counted calls, by number hash and call. */
  const counted = new Map<string, Map<string, number>>();

  stores.push(rows, keys, holds, hours, orders, notCalled, acts, arrivals, counted);

  const countState = ({ state, updatedAt }: CallRow) => {
    const hour = Math.floor(updatedAt / hourMs);
    const key = `${hour} ${state}`;
    hours.set(key, { hour, state, count: (hours.get(key)?.count ?? 0) + 1 });
  };
  const write = (
    id: string,
    next: CallRow | undefined,
    entry: HistoryEntry,
    { unrecorded = false }: { unrecorded?: boolean | undefined },
  ): boolean => {
    if (next === undefined) return false;
    const before = rows.get(id);
    const stood = before === next; // by an earlier write of the same
    if (before?.state !== next.state && next.state !== "DIALING") countState(next);
    const history = stood || unrecorded ? next.history : [...next.history, entry];
    rows.set(id, stood ? next : { ...next, history });
    return true;
  };
  const orderAt = (name: string, now: number): Order | undefined => {
    const order = orders.get(name);
    return order !== undefined && (order.expiresAt ?? now + 1) > now ? order : undefined;
  };
  const keyAt = (key: string, now: number): BoundKey | undefined => {
    const found = keys.get(key);
    if (found === undefined || found.expiresAt <= now) return undefined;
    return { fingerprint: found.fingerprint, seed: found.seed };
  };

  return {
    async read(ids) {
      const found = ids.flatMap((id) => rows.get(id) ?? []);
      return new Map(found.map((row) => [row.id, row]));
    },
    async claim(claims) {
      return claims.map((one) =>
        write(one.call.id, claimed(rows.get(one.call.id), one), claimEntryOf(one), one),
      );
    },
    async settle(settlements) {
      return settlements.map((one) =>
        write(one.id, settled(rows.get(one.id), one), entryOf(one), one),
      );
    },
    async defer(writes) {
      return writes.map((one) =>
        write(one.call.id, unclaimed(rows.get(one.call.id), one), entryOf(one), one),
      );
    },
    async act(all) {
      return all.map((one) => write(one.id, acted(rows.get(one.id), one), actEntryOf(one), {}));
    },
    async note(notes) {
      for (const { id, entry } of notes) {
        const row = rows.get(id);
        if (row !== undefined) rows.set(id, { ...row, history: [...row.history, entry] });
      }
    },
    async due({ until, after, line = null, limit }) {
      return [...rows.values()]
        .filter((row) => row.line === line)
        .flatMap((row): DueRow[] =>
          row.dueAt !== null && row.dueAt <= until ? [{ ...dueFields(row), dueAt: row.dueAt }] : [],
        )
        .filter(
          (row) =>
            after === undefined ||
            row.dueAt > after.dueAt ||
            (row.dueAt === after.dueAt && row.id > after.id),
        )
        .toSorted((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1))
        .slice(0, limit);
    },
    sweptAt: async () => sweptAt,
    async swept(at) {
      sweptAt = at;
    },
    async lines() {
      return [...new Set([...rows.values()].flatMap(({ line }) => line ?? []))];
    },
    async list({ before, limit, ...of }) {
      return [...rows.values()]
        .filter((row) => {
          if ("state" in of) return row.state === of.state;
          return "requestId" in of
            ? row.requestId === of.requestId
            : row.numberHash === of.numberHash;
        })
        .filter(
          (row) =>
            before === undefined ||
            row.acceptedAt < before.acceptedAt ||
            (row.acceptedAt === before.acceptedAt && row.id < before.id),
        )
        .toSorted((a, b) => b.acceptedAt - a.acceptedAt || (a.id < b.id ? 1 : -1))
        .slice(0, limit);
    },
    async ended(before, limit) {
      return [...rows.values()]
        .filter((row) => isEnded(row, before))
        .slice(0, limit)
        .map(({ id, state }) => ({ id, state }));
    },
    async purge(ids, before, now) {
      for (const [key, { expiresAt }] of keys) if (expiresAt <= now) keys.delete(key);
      for (const [name, { expiresAt }] of orders) {
        if (expiresAt !== null && expiresAt <= now) orders.delete(name);
      }
      for (const [id, { at }] of acts) if (at < before) acts.delete(id);
      for (const [key, { hour }] of hours)
        if (hour < Math.floor(before / hourMs)) hours.delete(key);
      for (const [numberHash, calls] of counted) {
        for (const [id, at] of calls) if (at <= now - capDaysMax * 86_400_000) calls.delete(id);
        if (calls.size === 0) counted.delete(numberHash);
      }
      for (const id of ids) {
        const row = rows.get(id);
        if (row !== undefined && isEnded(row, before)) rows.delete(id);
      }
    },

    async counts(from, until) {
      return [...hours.values()]
        .filter(({ hour }) => hour * hourMs >= from && hour * hourMs < until)
        .toSorted((a, b) => a.hour - b.hour || (a.state < b.state ? -1 : 1));
    },
    async writeCounts() {
      // They are kept as rows are written.
    },
    async standing(state, most) {
      const all = [...rows.values()].filter((row) => row.state === state);
      return Math.min(all.length, most);
    },
    async holdOrders() {
      return [...orders.values()].filter(({ name }) => name.startsWith(holdPrefix));
    },
    async ordersNamed(names, now) {
      return [...new Set(names)].flatMap((name) => orderAt(name, now) ?? []);
    },
    async ordersFor(names, now) {
      return [...orders.values()].filter(
        ({ name }) =>
          name.startsWith(holdPrefix) || (names.includes(name) && orderAt(name, now) !== undefined),
      );
    },
    async giveOrder(order) {
      orders.set(order.name, order);
    },
    async dropOrder(name) {
      orders.delete(name);
    },
    async doNotCall(hashes) {
      return new Set(hashes.filter((hash) => notCalled.has(hash)));
    },
    async addDoNotCall(hashes) {
      for (const hash of hashes) notCalled.add(hash);
    },
    async dropDoNotCall(hashes) {
      for (const hash of hashes) notCalled.delete(hash);
    },
    async logAct(act) {
      acts.set(act.id, act);
    },
    async acts({ before, limit }) {
      return [...acts.values()]
        .filter(
          ({ at, id }) =>
            before === undefined || at < before.at || (at === before.at && id < before.id),
        )
        .toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
        .slice(0, limit);
    },

    async readKey(key, now) {
      return keyAt(key, now);
    },
    async bindKey(key, bound, now, expiresAt) {
      const standing = keyAt(key, now);
      if (standing !== undefined) return standing;
      keys.set(key, { ...bound, expiresAt });
      return bound;
    },

    async holds() {
      return [...holds.values()];
    },
    async strike({ name, code, holdFrom, probeAt, at }) {
      const before = holds.get(name);
      const held = before !== undefined && before.probeAt !== null;
      if (held && (before.probeAt ?? 0) > at) return before;
      const count = before?.code === code ? before.count + 1 : 1;
      // Once held, held until a success: another code is no success.
      const hold = { name, code, count, probeAt: held || count >= holdFrom ? probeAt : null };
      holds.set(name, hold);
      return hold;
    },
    async takeProbe({ name, probeAt }, nextProbeAt) {
      const hold = holds.get(name);
      if (hold === undefined || hold.probeAt !== probeAt) return false;
      holds.set(name, { ...hold, count: hold.count + 1, probeAt: nextProbeAt });
      return true;
    },
    async clearHold(name) {
      holds.delete(name);
    },

    async reserve(request) {
      const { account } = request;
      const { granted, baseUs, arrivalUs } = grantSlots(arrivals.get(account), request);
      if (granted > 0) arrivals.set(account, arrivalUs);
      return slotsFrom(baseUs, granted, request);
    },
    async count({ numberHash, callId, at, caps }) {
      const calls = counted.get(numberHash) ?? new Map<string, number>();
      counted.set(numberHash, calls);
      const others = [...calls].filter(([id]) => id !== callId).map(([, time]) => time);
      const free = freeAt(others, caps, at);
      if (free === at) calls.set(callId, Math.max(calls.get(callId) ?? at, at));
      return free;
    },
    async uncount({ numberHash, callId, at }) {
      const calls = counted.get(numberHash);
      if (calls?.get(callId) === at) calls.delete(callId);
    },
  };
}

function isEnded({ state, updatedAt }: CallRow, before: number): boolean {
  return state !== "DEFERRED" && state !== "DIALING" && updatedAt < before;
}

function dueFields({ id, state, reason, token, attempt, route, requestId, agentId }: CallRow) {
  return { id, state, reason, token, attempt, route, requestId, agentId };
}
