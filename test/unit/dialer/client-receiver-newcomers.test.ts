import { expect, it } from "vitest";
import { clientReceiverName } from "#shared/ports/receiver-kinds.ts";
import { rowOf } from "#test/support/dialer-calls.ts";
import { deliverFor } from "#test/support/events-bench.ts";
import {
  createClientReceiverBench,
  placeFor,
  postsTo,
  setReceivers,
} from "#test/support/client-receivers-bench.ts";
import { completed, live, minuteMs } from "#test/support/results-bench.ts";

it("a receiver that is made during a call gets no earlier event of it, and has its row written no more often", async () => {
  const bench = createClientReceiverBench();
  const types = ["call.answered" as const, "call.ended" as const];
  await setReceivers(bench, "crm", { old: { types } });
  const old = { types, createdAt: bench.now() };
  const [call = { id: "" }] = await placeFor(bench, "crm", 1);
  bench.record = async () => ({ ...live, answeredAt: bench.now() });
  await deliverFor(bench, 2);
  bench.advance(minuteMs);
  await setReceivers(bench, "crm", { old, young: { types } });
  bench.record = async () => completed;
  await deliverFor(bench, 20);
  const { version } = await rowOf(bench, call);
  await deliverFor(bench, 3);
  expect((await rowOf(bench, call)).version).toBe(version);
  const typesTo = (name: string) =>
    postsTo(bench, clientReceiverName({ client: "crm", name })).map(({ body }) => body.type);
  expect(typesTo("old")).toEqual(types);
  expect(typesTo("young")).toEqual(["call.ended"]);
});
