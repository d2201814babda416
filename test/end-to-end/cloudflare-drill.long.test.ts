import { describeAlarmDrill } from "../contracts/alarm-drill.ts";
import { cloudflare } from "../support/platforms.ts";

describeAlarmDrill(cloudflare);
