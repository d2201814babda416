import { describeRetriedService } from "../contracts/retried-service.ts";
import { aws } from "../support/platforms.ts";

describeRetriedService(aws);
