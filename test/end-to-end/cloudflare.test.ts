import { describeService } from "../contracts/service.ts";
import { cloudflare } from "../support/platforms.ts";

describeService(cloudflare);
