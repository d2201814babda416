import {
  aws_cloudwatch as cloudwatch,
  type aws_lambda as lambda,
  type aws_sqs as sqs,
  Duration,
} from "aws-cdk-lib";
import type { Storage } from "./storage.ts";

/** Interval of the metrics of alarms and the dashboard. */
export const minute = { period: Duration.minutes(1) };

/** A queue, with a name for its metrics, which one graph may show beside another's. */
interface NamedQueue {
  name: string;
  queue: sqs.Queue;
  label?: string;
}

const mathOf = (
  label: string,
  expression: string,
  usingMetrics: Record<string, cloudwatch.IMetric>,
) => new cloudwatch.MathExpression({ label, expression, usingMetrics, ...minute });

/**
 * Has zeros in the minutes without data. An alarm that lacks data looks further back, for longer than AWS says, and takes
 * what it finds there: it would be raised late, and stay raised beside a second event.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
 */
export function filled(metric: cloudwatch.IMetric): cloudwatch.IMetric {
  if (metric instanceof cloudwatch.MathExpression) return metric;
  return mathOf("filled", "FILL(found, 0)", { found: metric });
}

/** Returns 1 in minutes in which nothing was counted, otherwise 0. */
export function isAbsent(counted: cloudwatch.IMetric): cloudwatch.IMetric {
  return mathOf("absent", "IF(FILL(counted, 0) == 0, 1, 0)", { counted });
}

/** Messages that a queue holds: also those that their consumer failed, which are hidden until their next try. */
const heldBy = ({ name, queue }: NamedQueue) => ({
  expression: `FILL(${name}Visible, 0) + FILL(${name}Hidden, 0)`,
  usingMetrics: {
    [`${name}Visible`]: queue.metricApproximateNumberOfMessagesVisible(minute),
    [`${name}Hidden`]: queue.metricApproximateNumberOfMessagesNotVisible(minute),
  },
});

/** Counts the messages of a queue, hidden ones too. While their consumer fails, most are hidden most of the time. */
export function depthOf(named: NamedQueue): cloudwatch.MathExpression {
  const { expression, usingMetrics } = heldBy(named);
  return mathOf(named.label ?? named.name, expression, usingMetrics);
}

/**
 * Returns 1 while a queue has messages and none is finished, otherwise 0. The age of the oldest message does not show
 * this: SQS excludes messages that were received three times.
 */
export function isStuck(named: NamedQueue): cloudwatch.MathExpression {
  const { expression, usingMetrics } = heldBy(named);
  return mathOf("stuck", `IF(${expression} > 0 AND FILL(finished, 0) == 0, 1, 0)`, {
    ...usingMetrics,
    finished: named.queue.metricNumberOfMessagesDeleted(minute),
  });
}

/** Counts invocations of the functions that Lambda took for a loop and dropped. */
export function droppedLoopsOf(functions: Record<string, lambda.Function>): cloudwatch.IMetric {
  const dropped = Object.entries(functions).map(([name, one]) => [
    name,
    one.metric("RecursiveInvocationsDropped", { ...minute, statistic: "Sum" }),
  ]);
  const terms = Object.keys(functions).map((name) => `FILL(${name}, 0)`);
  return mathOf("dropped", terms.join(" + "), Object.fromEntries(dropped));
}

/**
 * Counts throttled reads and writes of the table. A write that an index throttles counts only among the
 * requests of its operation.
 */
export function throttlesOf(table: Storage["table"]): cloudwatch.IMetric {
  const count = (metricName: string, Operation?: string) =>
    table.metric(metricName, {
      ...minute,
      statistic: "Sum",
      ...(Operation === undefined
        ? {}
        : { dimensionsMap: { TableName: table.tableName, Operation } }),
    });
  const usingMetrics = {
    reads: count("ReadThrottleEvents"),
    writes: count("WriteThrottleEvents"),
    puts: count("ThrottledRequests", "PutItem"),
    updates: count("ThrottledRequests", "UpdateItem"),
    deletes: count("ThrottledRequests", "DeleteItem"),
    queries: count("ThrottledRequests", "Query"),
  };
  const terms = Object.keys(usingMetrics).map((name) => `FILL(${name}, 0)`);
  return mathOf("throttled", terms.join(" + "), usingMetrics);
}
