import { describeFuzz } from "#test/contracts/fuzz-api.ts";
import { describeCallbacks } from "#test/contracts/http-api/callbacks.ts";
import { createMemoryApi } from "#test/support/memory-api.ts";
import { perTier } from "#test/support/per-tier.ts";

describeFuzz("Node, in memory", createMemoryApi, { runs: perTier({ quick: 6, long: 80 }) });
describeCallbacks("Node, in memory", createMemoryApi, {
  runs: perTier({ quick: 25, long: 150 }),
});
