import { describeFuzz } from "../contracts/fuzz-api.ts";
import { perTier } from "../support/per-tier.ts";
import { useLambda } from "./lambda-api.ts";

const createApi = useLambda()("an HTTP API's default stage");
describeFuzz("Lambda", createApi, { runs: perTier({ quick: 6, slow: 60 }) });
