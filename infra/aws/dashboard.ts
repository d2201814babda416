import { aws_cloudwatch as cloudwatch, type Stack } from "aws-cdk-lib";
import type { Watched } from "./alarms.ts";
import { waitingMetric } from "./log-metrics.ts";
import { depthOf, minute } from "./resource-metrics.ts";

const fullWidth = 24;

const graph = (title: string, ...left: cloudwatch.IMetric[]) =>
  new cloudwatch.GraphWidget({ title, left, width: fullWidth / 2 });

/** Creates the dashboard: what an operator asks first, the way of a call to its outcome, and what may hold it. */
export function createDashboard(
  stack: Stack,
  watched: Watched,
  alarms: readonly cloudwatch.Alarm[],
): void {
  const width = fullWidth;
  new cloudwatch.Dashboard(stack, "Dashboard", {
    widgets: [
      [new cloudwatch.AlarmStatusWidget({ title: "Alarms", alarms: [...alarms], width })],
      [currentFigures(watched)],
      ...callGraphs(watched),
      ...queueGraphs(watched),
      ...functionGraphs(watched),
    ],
  });
}

const deadLettersOf = ({ deadQueue, deadEventsQueue }: Watched) => [
  depthOf({ name: "deadCalls", queue: deadQueue, label: "dead letters" }),
  depthOf({ name: "deadEvents", queue: deadEventsQueue, label: "dead letters of events" }),
];

function currentFigures(watched: Watched) {
  const { needsReview, dueCalls, oldestDue, oldestExpired, openBreakers } = watched.logged;
  return new cloudwatch.SingleValueWidget({
    title: "Now",
    width: fullWidth,
    metrics: [
      needsReview.with({ label: "calls that need review" }),
      dueCalls.with({ label: "due calls" }),
      oldestDue.with({ label: "oldest due call, s" }),
      openBreakers.with({ label: "open circuit breakers" }),
      oldestExpired.with({ label: "oldest expired row, s" }),
      ...deadLettersOf(watched),
    ],
  });
}

function callGraphs({ logged }: Watched) {
  const waiting = new cloudwatch.SearchExpression({
    expression: `SEARCH('{"${logged.namespace}",reason} MetricName="${waitingMetric}"', 'Sum', 60)`,
    label: "",
    ...minute,
  });
  return [
    [
      graph("Calls accepted", logged.accepted),
      graph("Calls dialed and rejected", logged.placed, logged.rejected),
    ],
    [
      graph("Calls that begin to wait, by reason", waiting),
      graph("Calls that need review, due calls", logged.needsReview, logged.dueCalls),
    ],
    [graph("Open circuit breakers", logged.openBreakers), graph("Full sweeps", logged.fullSweeps)],
  ];
}

function queueGraphs(watched: Watched) {
  const { queue, eventsQueue } = watched;
  return [
    [
      graph(
        "Age of the oldest message of calls, of events, s",
        queue.metricApproximateAgeOfOldestMessage(minute),
        eventsQueue.metricApproximateAgeOfOldestMessage(minute),
      ),
      graph(
        "Messages of calls, of events, dead letters of both",
        depthOf({ name: "calls", queue }),
        depthOf({ name: "events", queue: eventsQueue }),
        ...deadLettersOf(watched),
      ),
    ],
  ];
}

function functionGraphs({ api, dialer, dispatcher, httpApi }: Watched) {
  const functions = [api.made, dialer.made, dispatcher.made];
  const concurrent = { ...minute, statistic: "Maximum" };
  return [
    [
      graph(
        "Requests, 4XX and 5XX",
        httpApi.metricCount(minute),
        httpApi.metricClientError(minute),
        httpApi.metricServerError(minute),
      ),
      graph("Acceptance, p99", httpApi.metricLatency({ ...minute, statistic: "p99" })),
    ],
    [
      graph("Functions' errors", ...functions.map((one) => one.metricErrors(minute))),
      graph("Functions' throttles", ...functions.map((one) => one.metricThrottles(minute))),
    ],
    [
      graph(
        "Functions' longest invocation",
        ...functions.map((one) => one.metricDuration({ ...minute, statistic: "Maximum" })),
      ),
      graph(
        "Functions' concurrent invocations",
        ...functions.map((one) => one.metric("ConcurrentExecutions", concurrent)),
      ),
    ],
  ];
}
