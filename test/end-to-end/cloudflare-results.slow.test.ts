import { describeResults } from "../contracts/results.ts";
import { cloudflare } from "../support/platforms.ts";

describeResults(cloudflare);
