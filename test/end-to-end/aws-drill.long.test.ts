import { describeAlarmDrill } from "../contracts/alarm-drill.ts";
import { aws } from "../support/platforms.ts";

describeAlarmDrill(aws);
