import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeCallHeaders } from "../contracts/http-api/call-headers.ts";
import { describeCallbacks } from "../contracts/http-api/callbacks.ts";
import { describeGuardedClients } from "../contracts/http-api/guards.ts";
import { describeReadiness } from "../contracts/http-api/readiness.ts";
import { describeOperatorApi } from "../contracts/operator-api/index.ts";
import { describeRequestsApi } from "../contracts/requests-api/index.ts";
import { createApi } from "./worker-api.ts";

// They count what is queued, and the others leave messages behind.
describeCallHeaders("Cloudflare Workers", createApi);
describeFuzz("Cloudflare Workers", createApi, { runs: 8 });
describeGuardedClients("Cloudflare Workers", createApi);
describeOperatorApi("Cloudflare Workers", createApi);
describeCallbacks("Cloudflare Workers", createApi, { runs: 150 });
describeRequestsApi("Cloudflare Workers", createApi);
describeReadiness("Cloudflare Workers", createApi);
