import { describeFirstRun } from "../contracts/service/first-run.ts";
import { cloudflare } from "../support/platforms.ts";

describeFirstRun(cloudflare);
