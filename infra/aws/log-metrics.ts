import {
  type aws_cloudwatch as cloudwatch,
  aws_logs as logs,
  Duration,
  type Stack,
} from "aws-cdk-lib";
import type { Functions } from "./functions.ts";

/** Metrics of a minute that are counted from the functions' logs. */
export interface LogMetrics {
  accepted: cloudwatch.IMetric;
  placed: cloudwatch.IMetric;
  rejected: cloudwatch.IMetric;
  review: cloudwatch.IMetric;
  breakersOpened: cloudwatch.IMetric;
  fullSweeps: cloudwatch.Metric;
  /** Events of level `alarm`. */
  dialerAlarms: cloudwatch.IMetric;
  apiAlarms: cloudwatch.IMetric;
  /** Namespace of these metrics, one of each stack. */
  namespace: string;
}

/** Name of the metric that has a dimension for the reason why calls wait. */
export const waitingMetric = "call.waiting";

/**
 * Counts events by their fields, never by words: an agent may be named `alarm`. A line of Lambda's JSON format
 * holds the event as the object `message`.
 */
export function countLoggedEvents(stack: Stack, { api, dialer }: Functions): LogMetrics {
  const namespace = `OutboundCalls/${stack.stackName}`;
  const count = (
    logGroup: logs.LogGroup,
    metricName: string,
    [field, value]: ["event" | "level", string],
    options: Pick<logs.MetricFilterOptions, "metricValue" | "dimensions"> = {},
  ) =>
    new logs.MetricFilter(stack, `${metricName}-count`, {
      logGroup,
      filterPattern: logs.FilterPattern.stringValue(`$.message.${field}`, "=", value),
      metricNamespace: namespace,
      metricName,
      ...options,
    }).metric({ statistic: "Sum", period: Duration.minutes(1) });
  const dialed = (event: string) => count(dialer.logGroup, event, ["event", event]);

  count(dialer.logGroup, waitingMetric, ["event", waitingMetric], {
    dimensions: { reason: "$.message.reason" },
  });
  return {
    accepted: count(api.logGroup, "request.accepted", ["event", "request.accepted"], {
      metricValue: "$.message.count",
    }),
    placed: dialed("call.placed"),
    rejected: dialed("call.rejected"),
    review: dialed("call.needs_review"),
    breakersOpened: dialed("breaker.opened"),
    fullSweeps: dialed("sweep.full"),
    dialerAlarms: count(dialer.logGroup, "dialer.alarm", ["level", "alarm"]),
    apiAlarms: count(api.logGroup, "api.alarm", ["level", "alarm"]),
    namespace,
  };
}
