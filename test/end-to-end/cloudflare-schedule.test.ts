import { describeScheduling } from "../contracts/scheduling.ts";
import { cloudflare } from "../support/platforms.ts";

describeScheduling(cloudflare);
