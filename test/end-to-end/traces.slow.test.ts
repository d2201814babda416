import { describeTraces } from "../contracts/traces.ts";
import { aws, cloudflare } from "../support/platforms.ts";

describeTraces(cloudflare);
describeTraces(aws);
