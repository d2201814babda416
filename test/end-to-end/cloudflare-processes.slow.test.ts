import { describeProcesses } from "../contracts/service/processes.ts";
import { cloudflare } from "../support/platforms.ts";

describeProcesses(cloudflare);
