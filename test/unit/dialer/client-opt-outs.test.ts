import { expect, it } from "vitest";
import { clientEntryOf } from "#shared/policy/number-entries.ts";
import { putEntries } from "#shared/policy/dnc-entries.ts";
import { aCallNow, hashOf, idsDialed, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";

const number = "+12025550123";

/** Creates a bench that counts the documents that are read. */
function createBench() {
  const bench = createDialerBench();
  const reads: string[][] = [];
  bench.breakDocuments({
    read: (keys) => {
      reads.push(keys.filter(({ kind }) => kind === "do-not-call").map(({ key }) => key));
      return bench.documents.read(keys);
    },
  });
  const optOut = (client: string) =>
    putEntries([clientEntryOf(hashOf(number), client)], {
      ...bench.deps,
      documents: bench.documents,
    });
  const dial = async (client: string) => {
    const call = aCallNow(bench, { phone_number: number }, { client });
    await sendEach(bench, call);
    await bench.deliver();
    return rowOf(bench, call);
  };
  return { bench, reads, optOut, dial };
}

it("an opt-out from one client ends that client's calls alone", async () => {
  const { bench, optOut, dial } = createBench();
  await optOut("crm");
  expect(await dial("crm")).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
  expect(await dial("shop")).toMatchObject({ state: "PLACED" });
  expect(bench.dialed).toHaveLength(1);
});

it("a process that reads no client's entries learns of the first one before it dials", async () => {
  const { bench, reads, optOut, dial } = createBench();
  expect(await dial("crm")).toMatchObject({ state: "PLACED" });
  expect(reads.flat().some((key) => key.includes(" "))).toBe(false);
  await optOut("crm");
  expect(await dial("crm")).toMatchObject({ state: "REJECTED" });
  reads.length = 0;
  expect(await dial("crm")).toMatchObject({ state: "REJECTED" });
  // From then on one read has both entries.
  const withEntries = reads.filter((keys) => keys.length > 0);
  expect(withEntries.every((keys) => keys.includes(hashOf(number)) && keys.length === 2)).toBe(
    true,
  );
  expect(idsDialed(bench)).toHaveLength(1);
});

it("a call that is about to ring is stopped by an opt-out from its client", async () => {
  const { bench, optOut, dial } = createBench();
  bench.ringSeconds = 45;
  bench.prepare = async () => {
    await optOut("crm");
    bench.advance(5_001);
  };
  expect(await dial("crm")).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
  expect(idsDialed(bench)).toEqual([]);
});
