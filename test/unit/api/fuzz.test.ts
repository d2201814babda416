import { describeFuzz } from "../../contracts/fuzz-api.ts";
import { describeCallbacks } from "../../contracts/http-api/callbacks.ts";
import { createMemoryApi } from "../../support/memory-api.ts";
import { perTier } from "../../support/per-tier.ts";

describeFuzz("Node, in memory", createMemoryApi, { runs: perTier({ quick: 20, slow: 80 }) });
describeCallbacks("Node, in memory", createMemoryApi, {
  runs: perTier({ quick: 40, slow: 150 }),
});
