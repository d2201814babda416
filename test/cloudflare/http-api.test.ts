import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeHttpApi } from "../contracts/http-api/index.ts";
import { createApi } from "./worker-api.ts";

describeHttpApi("Cloudflare Workers", createApi);
// In the same file: files that run at once would take each other's messages from the queues.
describeFuzz("Cloudflare Workers", createApi, { runs: 8 });
