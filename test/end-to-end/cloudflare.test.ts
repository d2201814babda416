import { describeResults } from "../contracts/results.ts";
import { describeService } from "../contracts/service/index.ts";
import { cloudflare } from "../support/platforms.ts";

describeService(cloudflare);
describeResults(cloudflare);
