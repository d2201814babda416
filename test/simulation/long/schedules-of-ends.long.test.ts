import { describeSchedules } from "../describe-schedules.ts";
import { schedulesOfEnds } from "../schedules.ts";

describeSchedules(schedulesOfEnds);
