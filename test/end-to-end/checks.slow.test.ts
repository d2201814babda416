import { describeChecks } from "../contracts/checks.ts";
import { aws, cloudflare } from "../support/platforms.ts";

describeChecks(cloudflare);
describeChecks(aws);
