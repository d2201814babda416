import { describeEvents } from "../contracts/events.ts";
import { cloudflare } from "../support/platforms.ts";

describeEvents(cloudflare);
