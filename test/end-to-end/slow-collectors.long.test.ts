import { describeSlowCollectors } from "../contracts/slow-collectors.ts";
import { aws, cloudflare } from "../support/platforms.ts";

describeSlowCollectors(cloudflare, 1);
describeSlowCollectors(aws, 5);
