import { describeCallingHours } from "../contracts/calling-hours.ts";
import { cloudflare } from "../support/platforms.ts";

describeCallingHours(cloudflare);
