import { describeProcesses } from "../contracts/service/processes.ts";
import { aws } from "../support/platforms.ts";

describeProcesses(aws, { settings: "few" });
