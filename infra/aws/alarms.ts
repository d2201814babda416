import {
  type aws_apigatewayv2 as apigateway,
  aws_cloudwatch as cloudwatch,
  aws_cloudwatch_actions as actions,
  aws_iam as iam,
  aws_logs as logs,
  aws_sns as sns,
  aws_sns_subscriptions as subscriptions,
  Duration,
  type Stack,
} from "aws-cdk-lib";
import type { Functions } from "./functions.ts";
import type { Storage } from "./storage.ts";

interface Watched extends Pick<Storage, "queue" | "deadQueue">, Functions {
  alarmEmail?: string | undefined;
  httpApi: apigateway.HttpApi;
}

/** Creates alarms for conditions that a person must act on, and a dashboard. */
export function createAlarms(stack: Stack, watched: Watched): void {
  const { alarmEmail, queue, deadQueue, api, dialer, httpApi } = watched;
  const topic = new sns.Topic(stack, "Alarms", { enforceSSL: true });
  // `enforceSSL` replaces the topic's default policy, which allowed CloudWatch to publish.
  topic.grantPublish(
    new iam.ServicePrincipal("cloudwatch.amazonaws.com", {
      conditions: { StringEquals: { "aws:SourceAccount": stack.account } },
    }),
  );
  if (alarmEmail !== undefined)
    topic.addSubscription(new subscriptions.EmailSubscription(alarmEmail));

  /** Counts log lines that name an event. The pattern matches text, as console output has a prefix. */
  const logged = (event: string) => {
    const filter = new logs.MetricFilter(stack, `${event}-count`, {
      logGroup: dialer.logGroup,
      filterPattern: logs.FilterPattern.allTerms(event),
      metricNamespace: "OutboundCalls",
      metricName: event,
    });
    return filter.metric({ statistic: "Sum", period: Duration.minutes(1) });
  };
  const minute = { period: Duration.minutes(1) };
  /** Counts all events of level `alarm`, which a person must act on. */
  const raised = (name: string, logGroup: logs.LogGroup) =>
    new logs.MetricFilter(stack, `${name}-alarm-count`, {
      logGroup,
      filterPattern: logs.FilterPattern.allTerms("level", "alarm"),
      metricNamespace: "OutboundCalls",
      metricName: `${name}.alarm`,
    }).metric({ statistic: "Sum", ...minute });
  const opened = logged("breaker.opened");
  const review = logged("call.needs_review");
  const fullRounds = logged("sweep.full");
  const alarms: [string, cloudwatch.IMetric, number, string][] = [
    [
      "DeadLetters",
      deadQueue.metricApproximateNumberOfMessagesVisible(minute),
      0,
      "messages failed a hundred times",
    ],
    [
      "OldestMessage",
      queue.metricApproximateAgeOfOldestMessage(minute),
      900,
      "the dialer does not keep up, or cannot dial",
    ],
    ["BreakerOpened", opened, 0, "an account, a route or an agent of the dial plan is in trouble"],
    [
      "DialerAlarms",
      raised("dialer", dialer.logGroup),
      0,
      "the dialer's log has an event of level alarm",
    ],
    ["ApiAlarms", raised("api", api.logGroup), 0, "the API's log has an event of level alarm"],
    ["CallsNeedReview", review, 0, "calls wait for a person's decision"],
    ["DialerErrors", dialer.made.metricErrors(minute), 0, "the dialer's function fails"],
    ["ApiErrors", api.made.metricErrors(minute), 0, "the API's function fails"],
    ["ServerErrors", httpApi.metricServerError(minute), 0, "requests are answered 5XX"],
  ];
  for (const [name, metric, threshold, alarmDescription] of alarms) {
    new cloudwatch.Alarm(stack, name, {
      metric,
      threshold,
      evaluationPeriods: 1,
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      alarmDescription,
    }).addAlarmAction(new actions.SnsAction(topic));
  }

  new cloudwatch.Alarm(stack, "SweepLate", {
    metric: fullRounds.with({ period: Duration.minutes(5) }),
    threshold: 1,
    evaluationPeriods: 1,
    comparisonOperator: cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
    treatMissingData: cloudwatch.TreatMissingData.BREACHING,
    alarmDescription: "no sweep has looked through everything for five minutes",
  }).addAlarmAction(new actions.SnsAction(topic));

  const graph = (title: string, left: cloudwatch.IMetric[]) =>
    new cloudwatch.GraphWidget({ title, left, width: 12 });
  new cloudwatch.Dashboard(stack, "Dashboard", {
    widgets: [
      [
        graph("Requests", [httpApi.metricCount(minute), httpApi.metricServerError(minute)]),
        graph("Acceptance, p99", [httpApi.metricLatency({ ...minute, statistic: "p99" })]),
      ],
      [
        graph("Calls", [
          logged("call.placed"),
          logged("call.waiting"),
          logged("call.rejected"),
          review,
        ]),
        graph("Queue", [
          queue.metricApproximateNumberOfMessagesVisible(minute),
          queue.metricApproximateAgeOfOldestMessage(minute),
        ]),
      ],
      [
        graph("Dialer", [dialer.made.metricErrors(minute), dialer.made.metricThrottles(minute)]),
        graph("Breakers opened", [opened]),
      ],
    ],
  });
}
