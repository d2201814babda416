import { describeScheduling } from "../contracts/scheduling.ts";
import { aws } from "../support/platforms.ts";

describeScheduling(aws);
