import { describeCallingHours } from "../contracts/calling-hours.ts";
import { aws } from "../support/platforms.ts";

describeCallingHours(aws);
