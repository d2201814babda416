import { aws_cloudwatch as cloudwatch, aws_logs as logs, Duration, type Stack } from "aws-cdk-lib";
import type { Functions } from "./functions.ts";

/** Metrics of a minute that are counted from the functions' logs. */
export interface LogMetrics {
  accepted: cloudwatch.IMetric;
  placed: cloudwatch.IMetric;
  rejected: cloudwatch.IMetric;
  review: cloudwatch.IMetric;
  breakersOpened: cloudwatch.IMetric;
  dispatcherSilent: cloudwatch.IMetric;
  fullSweeps: cloudwatch.Metric;
  /** Events of level `alarm`: of dialer and dispatcher, and of the API. */
  dialerAlarms: cloudwatch.IMetric;
  apiAlarms: cloudwatch.IMetric;
  /** Namespace of these metrics, one of each stack. */
  namespace: string;
}

/** Name of the metric that has a dimension for the reason why calls wait. */
export const waitingMetric = "call.waiting";

/** The events that a metric counts: those with this value in a field. */
interface Counted extends Pick<logs.MetricFilterOptions, "metricValue" | "dimensions"> {
  field: "event" | "level";
  value: string;
}

/**
 * Counts events by their fields, never by words: an agent may be named `alarm`. A line of Lambda's JSON format
 * holds the event as the object `message`.
 */
export function countLoggedEvents(stack: Stack, functions: Functions): LogMetrics {
  const namespace = `OutboundCalls/${stack.stackName}`;
  const count = (
    names: readonly (keyof Functions)[],
    metricName: string,
    { field, value, ...options }: Counted,
  ) => {
    for (const name of names) {
      new logs.MetricFilter(stack, `${metricName}-${name}-count`, {
        logGroup: functions[name].logGroup,
        filterPattern: logs.FilterPattern.stringValue(`$.message.${field}`, "=", value),
        metricNamespace: namespace,
        metricName,
        ...options,
      });
    }
    const period = Duration.minutes(1);
    return new cloudwatch.Metric({ namespace, metricName, statistic: "Sum", period });
  };
  const dialed = (event: string) => count(["dialer"], event, { field: "event", value: event });
  // The dispatcher ends calls that must not be dialed, or has them wait for their hours.
  const decided = (event: string, options = {}) =>
    count(["dialer", "dispatcher"], event, { field: "event", value: event, ...options });

  decided(waitingMetric, { dimensions: { reason: "$.message.reason" } });
  return {
    accepted: count(["api"], "request.accepted", {
      field: "event",
      value: "request.accepted",
      metricValue: "$.message.count",
    }),
    placed: dialed("call.placed"),
    rejected: decided("call.rejected"),
    review: dialed("call.needs_review"),
    breakersOpened: dialed("breaker.opened"),
    dispatcherSilent: dialed("dispatcher.silent"),
    fullSweeps: dialed("sweep.completed"),
    dialerAlarms: count(["dialer", "dispatcher"], "dialer.alarm", {
      field: "level",
      value: "alarm",
    }),
    apiAlarms: count(["api"], "api.alarm", { field: "level", value: "alarm" }),
    namespace,
  };
}
