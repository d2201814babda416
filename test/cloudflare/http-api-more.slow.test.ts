import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeCallbacks } from "../contracts/http-api/callbacks.ts";
import { describeGuardedClients } from "../contracts/http-api/guards.ts";
import { describeReadiness } from "../contracts/http-api/readiness.ts";
import { describeOperatorApi } from "../contracts/operator-api/index.ts";
import { describeRequestsApi } from "../contracts/requests-api/index.ts";
import { createApi } from "./worker-api.ts";

describeGuardedClients("Cloudflare Workers", createApi);
describeOperatorApi("Cloudflare Workers", createApi);
describeCallbacks("Cloudflare Workers", createApi, { runs: 150 });
describeRequestsApi("Cloudflare Workers", createApi);
describeReadiness("Cloudflare Workers", createApi);
describeFuzz("Cloudflare Workers", createApi, { runs: 8 });
