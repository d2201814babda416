import { describeHttpApi } from "../contracts/http-api/index.ts";
import { createApi } from "./worker-api.ts";

describeHttpApi("Cloudflare Workers", createApi);
