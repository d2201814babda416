import {
  type aws_apigatewayv2 as apigateway,
  aws_cloudwatch as cloudwatch,
  aws_cloudwatch_actions as actions,
  type Stack,
} from "aws-cdk-lib";
import { hourMs } from "#shared/lib/units.ts";
import { createAlarmTopic } from "./alarm-topic.ts";
import type { Functions } from "./functions.ts";
import type { LogMetrics } from "./log-metrics.ts";
import type { OutboundCallsProps } from "./props.ts";
import {
  depthOf,
  droppedLoopsOf,
  filled,
  isAbsent,
  isStuck,
  minute,
  throttlesOf,
} from "./resource-metrics.ts";
import type { Storage } from "./storage.ts";

type Queues = "queue" | "deadQueue" | "eventsQueue" | "deadEventsQueue";
type AlarmProps = "alarmEmail" | "alarmTopicArn" | "plan";

/** The resources and metrics that alarms and the dashboard show. */
export interface Watched
  extends Pick<Storage, Queues | "table">, Functions, Pick<OutboundCallsProps, AlarmProps> {
  httpApi: apigateway.HttpApi;
  logged: LogMetrics;
}

/** A condition that lasts as long as its cause. */
interface Condition {
  metric: cloudwatch.IMetric;
  /** The alarm is raised above this value, 0 by default. */
  above?: number;
  /** Minutes above it, 1 by default, of `lateMinutes` more. */
  minutes?: number;
  /** Minutes of which one above it is enough: the alarm of an event lasts so long after the last one. */
  within?: number;
  /** Meaning of a minute without data; "quiet" by default: it counts as 0. "unknown" leaves the alarm as it is. */
  missing?: "quiet" | "unknown" | "alarm";
  description: string;
}

/**
 * Minutes whose metrics may not have come yet. They count as 0, and an alarm that needs each of its minutes would never be
 * raised: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html, at FILL.
 */
const lateMinutes = 3;

const treatments = {
  quiet: cloudwatch.TreatMissingData.NOT_BREACHING,
  unknown: cloudwatch.TreatMissingData.IGNORE,
  alarm: cloudwatch.TreatMissingData.BREACHING,
};
/** Where the stack knows no dial plan, the schema's default. */
const expireAfterHoursDefault = 168;

/** Creates alarms for conditions that a person must act on. No event is counted by two of them. */
export function createAlarms(stack: Stack, watched: Watched): cloudwatch.Alarm[] {
  const action = new actions.SnsAction(createAlarmTopic(stack, watched));
  const conditions = {
    ...gaugeConditions(watched),
    ...queueConditions(watched),
    ...resourceConditions(watched),
  };
  const alarms = Object.entries(conditions).map(([name, condition]) => {
    const { metric, above = 0, minutes = 1, within, missing = "quiet", description } = condition;
    return new cloudwatch.Alarm(stack, name, {
      metric: missing === "quiet" ? filled(metric) : metric,
      threshold: above,
      evaluationPeriods: within ?? minutes + lateMinutes,
      datapointsToAlarm: within === undefined ? minutes : 1,
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: treatments[missing],
      alarmDescription: description,
    });
  });
  for (const alarm of alarms) {
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
  return alarms;
}

/** Conditions of the figures that each sweep logs. Without a sweep they are unknown, and `SweepLate` is raised. */
function gaugeConditions({ logged, plan }: Watched): Record<string, Condition> {
  const lifeSeconds = ((plan?.expireAfterHours ?? expireAfterHoursDefault) * hourMs) / 1000;
  return {
    CallsNeedReview: {
      metric: logged.needsReview,
      missing: "unknown",
      description: "calls wait for a person's decision",
    },
    OldestDueCall: {
      metric: logged.oldestDue,
      above: lifeSeconds / 2,
      missing: "unknown",
      description:
        "a call has been due for half of the plan's expireAfterHours: it may expire undialed",
    },
    SweepLate: {
      metric: isAbsent(logged.fullSweeps),
      // Late minutes look as if there was no sweep.
      minutes: 5 + 2,
      // No sweep at all may have run yet.
      missing: "alarm",
      description: "no sweep has looked through everything for five minutes",
    },
    BreakersOpen: {
      metric: logged.openBreakers,
      missing: "unknown",
      description:
        "an account, the calls of a client and an agent, or a receiver of events is in trouble",
    },
    BreakersOpened: {
      metric: logged.breakersOpened,
      description:
        "a circuit breaker has just opened: the calls of an account, of a client and an agent, or a receiver's events wait",
    },
    DispatcherSilent: {
      metric: logged.dispatcherSilent,
      description: "calls are due, and no dispatcher has looked at them for three minutes",
    },
    DialerAlarms: {
      metric: logged.dialerAlarms,
      within: 60,
      description:
        "within the last hour the dialer's log or the dispatcher's had another event of level alarm",
    },
    ApiAlarms: {
      metric: logged.apiAlarms,
      within: 60,
      description: "within the last hour the API's log had an event of level alarm",
    },
  };
}

/** Conditions of the queues. A queue that nobody used for hours has no data: it is empty. */
function queueConditions(watched: Watched): Record<string, Condition> {
  const { queue, deadQueue, eventsQueue, deadEventsQueue } = watched;
  return {
    CallsStuck: {
      metric: isStuck({ name: "calls", queue }),
      minutes: 15,
      description: "messages of calls are on the queue, and none was finished for 15 minutes",
    },
    OldestMessage: {
      metric: queue.metricApproximateAgeOfOldestMessage(minute),
      above: 900,
      description: "the dialer does not keep up with the messages of calls",
    },
    EventsStuck: {
      metric: isStuck({ name: "events", queue: eventsQueue }),
      minutes: 30,
      description:
        "messages about results and events are on the queue, and none was finished for 30 minutes",
    },
    OldestEvent: {
      metric: eventsQueue.metricApproximateAgeOfOldestMessage(minute),
      above: 3600,
      description: "outcomes of placed calls are known an hour late",
    },
    DeadLetters: {
      metric: depthOf({ name: "deadCalls", queue: deadQueue }),
      minutes: 5,
      description: "messages that failed a hundred times have not been stored for 5 minutes",
    },
    EventDeadLetters: {
      metric: depthOf({ name: "deadEvents", queue: deadEventsQueue }),
      minutes: 5,
      description: "callbacks have been on their dead-letter queue for 5 minutes",
    },
  };
}

/** Conditions of the functions, the table and the HTTP API. Without data nothing has failed. */
function resourceConditions(watched: Watched): Record<string, Condition> {
  const { table, api, dialer, dispatcher, httpApi } = watched;
  return {
    DialerErrors: {
      metric: dialer.made.metricErrors(minute),
      within: 15,
      description: "the dialer's function fails",
    },
    DispatcherErrors: {
      metric: dispatcher.made.metricErrors(minute),
      within: 15,
      description: "the dispatcher's function fails: waiting calls may not get their turns",
    },
    LoopsStopped: {
      metric: droppedLoopsOf({ api: api.made, dialer: dialer.made, dispatcher: dispatcher.made }),
      within: 60,
      description:
        "within the last hour Lambda took a chain of invocations for a loop and dropped its last one",
    },
    DialerThrottles: {
      metric: dialer.made.metricThrottles(minute),
      minutes: 5,
      description: "Lambda throttles the dialer: no invocation is free in its concurrency",
    },
    LedgerThrottles: {
      metric: throttlesOf(table),
      minutes: 3,
      description: "DynamoDB throttles the ledger's table or one of its indexes",
    },
    ServerErrors: {
      metric: httpApi.metricServerError(minute),
      within: 15,
      description:
        "requests are answered 5XX: the API's function fails, is throttled, or reaches no queue",
    },
  };
}
