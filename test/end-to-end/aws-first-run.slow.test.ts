import { describeFirstRun } from "../contracts/service/first-run.ts";
import { aws } from "../support/platforms.ts";

describeFirstRun(aws);
