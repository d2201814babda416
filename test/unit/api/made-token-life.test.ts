import * as fc from "fast-check";
import { expect, it } from "vitest";
import { rememberEpoch } from "#functions/dialer/runtime/epoch.ts";
import { isLedgerSuspended, restoreKey, sweepKey } from "#shared/policy/ledger-epoch.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { createTestApi } from "#test/support/api.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { tokens as known } from "#test/support/environment.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { createMemoryEpochStore } from "#test/support/memory-epoch-store.ts";
import { createMemoryJournal } from "#test/support/memory-journal.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const minuteMs = 60_000;
const clients = ["shop", "desk"] as const;
/** Age of a backup from which its restore is noticed for sure (docs/incidents.md). */
const backupMsMin = 3 * minuteMs;

interface Made {
  id: string;
  token: string;
  client: string;
  /** Time from which nobody may be let in by it, but by a process that has read it within a minute before. */
  endedAt: number;
}

/** One ledger, two processes of the API, and the dialer whose sweeps apply the journal. */
function createLife() {
  const bench = createDialerBench({ startAt: "2026-06-01T10:00Z" });
  const texts: Parameters<typeof createMemoryDocuments>[2] = new Map();
  const documents = createMemoryDocuments(bench.now, () => randomVersion(), texts);
  const [epochStore, journal] = [createMemoryEpochStore(), createMemoryJournal()];
  Object.assign(bench.deps, { documents, epochStore, journal });
  let isDown = false;
  const failing: Documents = {
    ...documents,
    read: (keys) => (isDown ? Promise.reject(new Error("it is down")) : documents.read(keys)),
  };
  const start = () =>
    createTestApi({ documents: failing, epochStore, journal, now: bench.now }).app;
  const processes = { 0: start(), 1: start() };
  const backups: { at: number; texts: [string, string][] }[] = [];
  const made: Made[] = [];
  const failedAt = { 0: -Infinity, 1: -Infinity };
  let isRestored = false;
  let confirmAt = 0;

  async function ask(method: string, path: string, body?: object) {
    const response = await processes[0].request(
      `/operator${path}`,
      jsonRequest(known.operator, method, body),
    );
    return { status: response.status, body: Object(JSON.parse(await response.text())) };
  }
  const pick = (n: number) => made[n % made.length];

  return {
    async put(n: number) {
      const { status } = await ask("PUT", `/clients/${clients[n]}`, {
        agents: ["*"],
        reuse: true,
      });
      expect(status).toBe(isRestored ? 409 : 200);
    },
    async make(n: number) {
      const client = clients[n] ?? "";
      const { status, body } = await ask("POST", `/clients/${client}/tokens`, {});
      if (status === 201) made.push({ id: body.id, token: body.token, client, endedAt: Infinity });
      expect(isRestored ? [409] : [201, 404]).toContain(status);
    },
    async end(n: number) {
      const token = pick(n);
      if (token === undefined) return;
      const { status } = await ask("POST", `/tokens/${token.id}/revoke`, {});
      if (status === 200) token.endedAt = Math.min(token.endedAt, bench.now());
      else expect([status, isRestored]).toEqual([409, true]);
    },
    async remove(n: number) {
      const { status } = await ask("DELETE", `/clients/${clients[n]}`);
      if (status !== 200) return;
      for (const token of made) {
        if (token.client === clients[n]) token.endedAt = Math.min(token.endedAt, bench.now());
      }
    },
    async use(n: number, { process, fails }: { process: 0 | 1; fails: boolean }) {
      const token = pick(n);
      if (token === undefined) return;
      isDown = fails;
      if (fails) failedAt[process] = bench.now();
      const { status } = await processes[process].request(
        "/v1/calls",
        jsonRequest(token.token, "POST", { phone_number: "+12025550123", agent_id: "agent_sales" }),
      );
      isDown = false;
      const age = bench.now() - token.endedAt;
      if (age >= minuteMs) expect([401, 503]).toContain(status);
      if (age === -Infinity) expect([201, 503]).toContain(status);
      const mayFail = isRestored || bench.now() - failedAt[process] < 1_000;
      if (!mayFail) expect(status).not.toBe(503);
    },
    /** Lets time pass, with a sweep and a backup each minute. */
    async pass(ms: number) {
      for (const endAt = bench.now() + ms; bench.now() < endAt;) {
        const next = Math.floor(bench.now() / minuteMs + 1) * minuteMs;
        bench.advance(Math.min(next, endAt) - bench.now());
        if (bench.now() !== next) continue;
        await bench.sweep();
        const read = await documents.read([sweepKey, restoreKey]);
        if (isRestored) isRestored = isLedgerSuspended(read, epochStore.current());
        backups.push({
          at: bench.now(),
          texts: [...texts].map(([k, v]) => [k, JSON.stringify(v)]),
        });
      }
    },
    restart(process: 0 | 1) {
      processes[process] = start();
      failedAt[process] = -Infinity;
    },
    /** Restores the ledger to a backup, and starts the dialer anew. */
    restore(n: number) {
      const old = backups.filter(({ at }) => at <= bench.now() - backupMsMin);
      const backup = old[n % old.length];
      if (backup === undefined || isRestored) return;
      texts.clear();
      for (const [name, text] of backup.texts) texts.set(name, JSON.parse(text));
      rememberEpoch(0, bench.deps);
      isRestored = true;
      confirmAt = backup.at;
    },
    async confirm() {
      const current = (await documents.read([restoreKey])).get("restore", "ledger");
      if (current?.value.state !== "suspended") return;
      const value = { ...current.value, state: "confirmed" as const, at: confirmAt, by: "ops" };
      const next = { ...current, version: randomVersion(), value };
      await documents.write([{ next, seen: current.version }]);
    },
  };
}

type Life = ReturnType<typeof createLife>;
const small = fc.nat({ max: 7 });
const client = fc.nat({ max: clients.length - 1 });
const process = fc.constantFrom(0 as const, 1 as const);
const step = fc.oneof(
  { weight: 2, arbitrary: client.map((n) => (life: Life) => life.put(n)) },
  { weight: 4, arbitrary: client.map((n) => (life: Life) => life.make(n)) },
  { weight: 3, arbitrary: small.map((n) => (life: Life) => life.end(n)) },
  { weight: 1, arbitrary: client.map((n) => (life: Life) => life.remove(n)) },
  {
    weight: 12,
    arbitrary: fc
      .record({ n: small, process, fails: fc.nat({ max: 5 }).map((one) => one === 0) })
      .map(
        ({ n, ...how }) =>
          (life: Life) =>
            life.use(n, how),
      ),
  },
  {
    weight: 6,
    arbitrary: fc
      .oneof(fc.integer({ min: 1, max: 90_000 }), fc.constant(minuteMs), fc.constant(5 * minuteMs))
      .map((ms) => (life: Life) => life.pass(ms)),
  },
  { weight: 1, arbitrary: process.map((n) => async (life: Life) => life.restart(n)) },
  { weight: 2, arbitrary: small.map((n) => async (life: Life) => life.restore(n)) },
  { weight: 2, arbitrary: fc.constant((life: Life) => life.confirm()) },
  // Chance seldom restores the ledger to a time before a token has ended.
  { weight: 1, arbitrary: small.map((n) => (life: Life) => restoreAfterEnd(n, life)) },
);

async function restoreAfterEnd(n: number, life: Life): Promise<void> {
  await life.pass(backupMsMin + minuteMs);
  await life.end(n);
  life.restore(7);
  await life.pass(2 * minuteMs);
  await life.confirm();
  await life.pass(5 * minuteMs);
  await life.use(n, { process: 0, fails: false });
}

it(
  "lets nobody in a minute after a token's end, and never refuses a valid one as unknown",
  inSlowTier,
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const life = createLife();
        await life.put(0);
        await life.make(0);
        for (const one of steps) await one(life);
      }),
      { numRuns: perTier({ quick: 5, long: 50 }) },
    );
  },
);
