import { aws_cloudwatch as cloudwatch, aws_logs as logs, Duration, type Stack } from "aws-cdk-lib";
import type { Functions } from "./functions.ts";

/** Metrics of a minute that are read from the functions' logs. */
export interface LogMetrics {
  accepted: cloudwatch.IMetric;
  placed: cloudwatch.IMetric;
  rejected: cloudwatch.IMetric;
  dispatcherSilent: cloudwatch.IMetric;
  fullSweeps: cloudwatch.IMetric;
  /** Figures of the last sweep. */
  needsReview: cloudwatch.Metric;
  dueCalls: cloudwatch.Metric;
  oldestDue: cloudwatch.Metric;
  oldestExpired: cloudwatch.Metric;
  openBreakers: cloudwatch.Metric;
  /** Openings of circuit breakers, as an alarm of those that are open reports the first one alone. */
  breakersOpened: cloudwatch.IMetric;
  /** Events of level `alarm`: of dialer and dispatcher those without an alarm of their own, and all of the API. */
  dialerAlarms: cloudwatch.IMetric;
  apiAlarms: cloudwatch.IMetric;
  /** Namespace of these metrics, one of each stack. */
  namespace: string;
}

/** Name of the metric that has a dimension for the reason why calls wait. */
export const waitingMetric = "call.waiting";

/** Events of level `alarm` that have an alarm of their own, so that none is counted twice. */
const ownAlarms = [
  "call.needs_review",
  "calls.overdue",
  "breaker.opened",
  "dispatcher.silent",
  "sweep.late",
];

/** The lines that a metric counts, and what it takes of each. */
interface Counted extends Pick<logs.MetricFilterOptions, "metricValue" | "dimensions"> {
  lines: logs.JsonPattern;
  statistic?: "Sum" | "Maximum";
}

const where = (field: "event" | "level", comparison: "=" | "!=", value: string) =>
  logs.FilterPattern.stringValue(`$.message.${field}`, comparison, value);
const isAlarm = where("level", "=", "alarm");

/**
 * Reads events by their fields, never by words: an agent may be named `alarm`. A line of Lambda's JSON format
 * holds the event as the object `message`.
 */
export function countLoggedEvents(stack: Stack, functions: Functions): LogMetrics {
  const namespace = `OutboundCalls/${stack.stackName}`;
  const count = (
    names: readonly (keyof Functions)[],
    metricName: string,
    { lines, statistic = "Sum", ...options }: Counted,
  ) => {
    for (const name of names) {
      new logs.MetricFilter(stack, `${metricName}-${name}-count`, {
        logGroup: functions[name].logGroup,
        filterPattern: lines,
        metricNamespace: namespace,
        metricName,
        ...options,
      });
    }
    const period = Duration.minutes(1);
    return new cloudwatch.Metric({ namespace, metricName, statistic, period });
  };
  const dialed = (event: string) => count(["dialer"], event, { lines: where("event", "=", event) });
  // The dispatcher ends calls that must not be dialed, or has them wait for their hours.
  const decided = (event: string, options = {}) =>
    count(["dialer", "dispatcher"], event, { lines: where("event", "=", event), ...options });
  const measured = (field: string) =>
    count(["dialer"], field, {
      lines: where("event", "=", "sweep.measured"),
      metricValue: `$.message.${field}`,
      statistic: "Maximum",
    });

  decided(waitingMetric, { dimensions: { reason: "$.message.reason" } });
  return {
    accepted: count(["api"], "request.accepted", {
      lines: where("event", "=", "request.accepted"),
      metricValue: "$.message.count",
    }),
    placed: dialed("call.placed"),
    rejected: decided("call.rejected"),
    dispatcherSilent: dialed("dispatcher.silent"),
    fullSweeps: dialed("sweep.completed"),
    needsReview: measured("needs_review"),
    dueCalls: measured("due_calls"),
    oldestDue: measured("oldest_due_seconds"),
    oldestExpired: measured("oldest_expired_seconds"),
    openBreakers: measured("open_breakers"),
    breakersOpened: count(["dialer"], "breaker.opened", {
      lines: logs.FilterPattern.all(isAlarm, where("event", "=", "breaker.opened")),
    }),
    dialerAlarms: count(["dialer", "dispatcher"], "dialer.alarm", {
      lines: logs.FilterPattern.all(isAlarm, ...ownAlarms.map((one) => where("event", "!=", one))),
    }),
    apiAlarms: count(["api"], "api.alarm", { lines: isAlarm }),
    namespace,
  };
}
