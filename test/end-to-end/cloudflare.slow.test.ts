import { describeService } from "../contracts/service/index.ts";
import { cloudflare } from "../support/platforms.ts";

describeService(cloudflare);
