import { describeRetriedService } from "../contracts/retried-service.ts";
import { cloudflare } from "../support/platforms.ts";

describeRetriedService(cloudflare);
