import { statesWhere } from "../../../shared/calls/states.ts";
import { createMemoryLedger } from "../../support/memory-ledger.ts";
import { describeCallLedger } from "../../contracts/call-ledger/index.ts";
import { withShortPages } from "../../support/short-pages.ts";
import { perTier } from "../../support/per-tier.ts";

const told = statesWhere(({ purge }) => purge !== "never");

describeCallLedger("memory", async () => createMemoryLedger(), {
  told,
  runs: perTier({ quick: 2, slow: 20 }),
});

describeCallLedger("memory with short pages", async () => withShortPages(createMemoryLedger()), {
  told,
  runs: perTier({ quick: 2, slow: 20 }),
});
