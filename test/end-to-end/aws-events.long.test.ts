import { describeEvents } from "../contracts/events.ts";
import { aws } from "../support/platforms.ts";

describeEvents(aws);
