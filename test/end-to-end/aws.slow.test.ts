import { describeService } from "../contracts/service/index.ts";
import { aws } from "../support/platforms.ts";

describeService(aws);
