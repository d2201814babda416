import { describeResults } from "../contracts/results.ts";
import { aws } from "../support/platforms.ts";

describeResults(aws);
