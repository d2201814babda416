import { createNumberHasher } from "#shared/telephony/number-hashes.ts";
import { expect, it } from "vitest";
import { states } from "#shared/calls/states.ts";
import { createSchedule } from "#shared/dial-plan/schedule.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import { orders } from "#shared/rules/gates.ts";
import { createResolver } from "#shared/rules/resolved-call.ts";
import { findVerdict } from "#shared/rules/rule.ts";
import { deliverOne, type Left, type World } from "#test/gate/delivered.ts";
import { perTier } from "#test/support/per-tier.ts";
import { createRouteTable, parseDialPlan } from "#test/support/plans.ts";
import { toCall } from "#shared/calls/call-row.ts";

/** Number of random deliveries: with plans, rows, orders, slow and failing ports, providers and checks. */
const deliveries = perTier({ quick: 20, long: 200 });
const seed = Number(process.env["SEED"] ?? 1);

/** Lists what must never be, of what a delivery has left behind. */
function wrongsOf({ requested, rows: before, plan, hashKeys, documents }: World, left: Left) {
  const table = createRouteTable(parseDialPlan(plan, {}));
  const resolver = createResolver(table, createNumberHasher(hashKeys).all);
  const schedule = createSchedule(table, () => undefined);
  const read = { ...toDocumentsRead(documents), isSuspended: false };
  const former = new Map(before.map((row) => [row.id, row]));
  const wrongs: string[] = [];
  const isThrown = [...left.retried].some((one) => one.startsWith("throws"));
  const rung = new Set<string>();
  for (const { id, at, route } of left.requests) {
    if (rung.has(id)) wrongs.push(`${id} is dialed twice`);
    rung.add(id);
    const row = former.get(id);
    const call = row === undefined ? requested.find((one) => one.id === id)?.call : toCall(row);
    if (call === undefined) {
      wrongs.push(`${id} is dialed though nobody wants it`);
      continue;
    }
    const resolved = resolver.resolve(call, row);
    const verdict = findVerdict(orders, resolved, { at, documents: read });
    if (verdict !== undefined) wrongs.push(`${id} is dialed against ${verdict.reason}`);
    const closedBy = schedule.closedBy(call.request, route, at);
    if (closedBy !== undefined) wrongs.push(`${id} is dialed while ${closedBy} is closed`);
    if (at >= resolved.expiresAt) wrongs.push(`${id} is dialed after it has expired`);
    if (!left.rows.has(id)) wrongs.push(`${id} is dialed without a row`);
  }
  for (const row of before) {
    const now = left.rows.get(row.id);
    if (!states[row.state].open && now?.version !== row.version)
      wrongs.push(`${row.id} changes though it has ended`);
    if (now?.state === "PLACED" && row.state !== "PLACED" && !rung.has(row.id))
      wrongs.push(`${row.id} is placed without a request`);
  }
  for (const { id, call } of requested) {
    const isKept = left.rows.has(id) || isThrown || left.retried.has(id);
    if (call !== undefined && !isKept && !left.events.has("call.too_old"))
      wrongs.push(`${id} is lost`);
  }
  return wrongs;
}

it("a random delivery dials nobody twice, against orders or outside hours, and loses no call", async () => {
  let requests = 0;
  for (let index = 0; index < deliveries; index++) {
    const { world, left } = await deliverOne(seed * 1_000_003 + index);
    expect(wrongsOf(world, left), `seed ${world.seed}`).toEqual([]);
    requests += left.requests.length;
  }
  // Deliveries of which too few calls are dialed would say nothing.
  expect(requests).toBeGreaterThan(deliveries / 4);
});
