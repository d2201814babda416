import { describeFuzz } from "../contracts/fuzz-api.ts";
import { perTier } from "../support/per-tier.ts";
import { createApi } from "./worker-api.ts";

describeFuzz("Cloudflare Workers", createApi, { runs: perTier({ quick: 8, slow: 80 }) });
