import { aws_cloudwatch as cloudwatch, Duration, type Stack } from "aws-cdk-lib";
import type { Watched } from "./alarms.ts";
import { waitingMetric } from "./log-metrics.ts";

/** Creates the dashboard: the way of a call from the request to its outcome, and what may hold it. */
export function createDashboard(stack: Stack, watched: Watched): void {
  const { queue, deadQueue, api, dialer, dispatcher, httpApi, logged } = watched;
  const period = Duration.minutes(1);
  const minute = { period };
  const graph = (title: string, ...left: cloudwatch.IMetric[]) =>
    new cloudwatch.GraphWidget({ title, left, width: 12 });
  const waiting = new cloudwatch.SearchExpression({
    expression: `SEARCH('{"${logged.namespace}",reason} MetricName="${waitingMetric}"', 'Sum', 60)`,
    label: "",
    period,
  });
  new cloudwatch.Dashboard(stack, "Dashboard", {
    widgets: [
      [
        graph("Calls accepted", logged.accepted),
        graph("Calls dialed and rejected", logged.placed, logged.rejected),
      ],
      [
        graph("Calls that begin to wait, by reason", waiting),
        graph("Calls that need review", logged.review),
      ],
      [
        graph("Age of the oldest message, s", queue.metricApproximateAgeOfOldestMessage(minute)),
        graph(
          "Messages, dead letters",
          queue.metricApproximateNumberOfMessagesVisible(minute),
          deadQueue.metricApproximateNumberOfMessagesVisible(minute),
        ),
      ],
      [
        graph("Circuit breakers opened", logged.breakersOpened),
        graph("Full sweeps", logged.fullSweeps),
      ],
      [
        graph("Requests and 5XX", httpApi.metricCount(minute), httpApi.metricServerError(minute)),
        graph("Acceptance, p99", httpApi.metricLatency({ ...minute, statistic: "p99" })),
      ],
      [
        graph(
          "Functions' errors",
          api.made.metricErrors(minute),
          dialer.made.metricErrors(minute),
          dispatcher.made.metricErrors(minute),
        ),
        graph(
          "Functions' throttles",
          api.made.metricThrottles(minute),
          dialer.made.metricThrottles(minute),
          dispatcher.made.metricThrottles(minute),
        ),
      ],
    ],
  });
}
