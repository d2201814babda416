import { describeSchedules } from "../describe-schedules.ts";
import { schedulesOfCalls } from "../schedules.ts";

describeSchedules(schedulesOfCalls);
