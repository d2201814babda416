import { statesWhere } from "#shared/calls/states.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";
import { describeCallLedger } from "#test/contracts/call-ledger/index.ts";
import { withShortPages } from "#test/support/short-pages.ts";
import { perTier } from "#test/support/per-tier.ts";

const told = statesWhere(({ purge }) => purge !== "never");

describeCallLedger("memory", async () => createMemoryLedger(), {
  told,
  runs: perTier({ quick: 2, long: 20 }),
});

describeCallLedger("memory with short pages", async () => withShortPages(createMemoryLedger()), {
  told,
  runs: perTier({ quick: 2, long: 20 }),
});
