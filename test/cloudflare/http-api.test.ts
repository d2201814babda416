import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeHttpApi } from "../contracts/http-api/index.ts";
import { perTier } from "../support/per-tier.ts";
import { createApi } from "./worker-api.ts";

describeHttpApi("Cloudflare Workers", createApi);
describeFuzz("Cloudflare Workers", createApi, { runs: perTier({ quick: 8, slow: 80 }) });
