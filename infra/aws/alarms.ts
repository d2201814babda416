import {
  type aws_apigatewayv2 as apigateway,
  aws_cloudwatch as cloudwatch,
  aws_cloudwatch_actions as actions,
  aws_iam as iam,
  aws_sns as sns,
  aws_sns_subscriptions as subscriptions,
  Duration,
  type Stack,
} from "aws-cdk-lib";
import type { Functions } from "./functions.ts";
import type { LogMetrics } from "./log-metrics.ts";
import type { Storage } from "./storage.ts";

type Queues = "queue" | "deadQueue" | "eventsQueue" | "deadEventsQueue";

/** The resources and metrics that alarms and the dashboard show. */
export interface Watched extends Pick<Storage, Queues | "table">, Functions {
  alarmEmail?: string | undefined;
  httpApi: apigateway.HttpApi;
  logged: LogMetrics;
}

interface Condition {
  metric: cloudwatch.IMetric;
  /** The alarm is raised above this value. */
  above?: number;
  /** Minutes in a row above it, 1 by default. */
  minutes?: number;
  description: string;
}

const minute = { period: Duration.minutes(1) };

/** Creates alarms for conditions that a person must act on. */
export function createAlarms(stack: Stack, watched: Watched): void {
  const action = new actions.SnsAction(createTopic(stack, watched.alarmEmail));
  const conditions = { ...callConditions(watched), ...resourceConditions(watched) };
  for (const [name, condition] of Object.entries(conditions)) {
    const { metric, above = 0, minutes = 1, description } = condition;
    new cloudwatch.Alarm(stack, name, {
      metric,
      threshold: above,
      evaluationPeriods: minutes,
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      alarmDescription: description,
    }).addAlarmAction(action);
  }
  new cloudwatch.Alarm(stack, "SweepLate", {
    metric: watched.logged.fullSweeps.with({ period: Duration.minutes(5) }),
    threshold: 1,
    evaluationPeriods: 1,
    comparisonOperator: cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
    treatMissingData: cloudwatch.TreatMissingData.BREACHING,
    alarmDescription: "no sweep has looked through everything for five minutes",
  }).addAlarmAction(action);
}

function createTopic(stack: Stack, alarmEmail: string | undefined): sns.Topic {
  const topic = new sns.Topic(stack, "Alarms", { enforceSSL: true });
  // `enforceSSL` replaces the topic's default policy, which allowed CloudWatch to publish.
  topic.grantPublish(
    new iam.ServicePrincipal("cloudwatch.amazonaws.com", {
      conditions: { StringEquals: { "aws:SourceAccount": stack.account } },
    }),
  );
  if (alarmEmail !== undefined)
    topic.addSubscription(new subscriptions.EmailSubscription(alarmEmail));
  return topic;
}

/** Conditions of the messages and the calls. */
function callConditions(watched: Watched): Record<string, Condition> {
  const { queue, deadQueue, eventsQueue, deadEventsQueue, logged } = watched;
  return {
    DeadLetters: {
      metric: deadQueue.metricApproximateNumberOfMessagesVisible(minute),
      description: "messages failed a hundred times",
    },
    OldestMessage: {
      metric: queue.metricApproximateAgeOfOldestMessage(minute),
      above: 900,
      description: "the dialer does not keep up, or cannot dial",
    },
    EventDeadLetters: {
      metric: deadEventsQueue.metricApproximateNumberOfMessagesVisible(minute),
      description:
        "callbacks or questions about placed calls failed each time that they were handled",
    },
    OldestEvent: {
      metric: eventsQueue.metricApproximateAgeOfOldestMessage(minute),
      above: 3600,
      description: "what became of placed calls is learnt an hour late",
    },
    BreakerOpened: {
      metric: logged.breakersOpened,
      description:
        "an account, the calls of a client and an agent, or a receiver of events is in trouble",
    },
    CallsNeedReview: {
      metric: logged.review,
      description: "calls wait for a person's decision",
    },
    DialerAlarms: {
      metric: logged.dialerAlarms,
      description: "the dialer's log or the dispatcher's has an event of level alarm",
    },
    ApiAlarms: {
      metric: logged.apiAlarms,
      description: "the API's log has an event of level alarm",
    },
  };
}

/** Conditions of the functions, the table and the HTTP API. */
function resourceConditions(watched: Watched): Record<string, Condition> {
  const { table, api, dialer, dispatcher, httpApi, logged } = watched;
  return {
    DialerErrors: {
      metric: dialer.made.metricErrors(minute),
      description: "the dialer's function fails",
    },
    DispatcherErrors: {
      metric: dispatcher.made.metricErrors(minute),
      description: "the dispatcher's function fails: waiting calls may not get their turns",
    },
    DispatcherSilent: {
      metric: logged.dispatcherSilent,
      description: "calls are due, and no dispatcher has looked at them for three minutes",
    },
    ApiErrors: { metric: api.made.metricErrors(minute), description: "the API's function fails" },
    DialerThrottles: {
      metric: dialer.made.metricThrottles(minute),
      minutes: 5,
      description: "Lambda throttles the dialer: no invocation is free in its concurrency",
    },
    ApiThrottles: {
      metric: api.made.metricThrottles(minute),
      description: "Lambda throttles the API: requests are not let in",
    },
    LedgerThrottles: {
      metric: throttlesOf(table),
      minutes: 3,
      description: "DynamoDB throttles the ledger's table or one of its indexes",
    },
    ServerErrors: {
      metric: httpApi.metricServerError(minute),
      description: "requests are answered 5XX",
    },
  };
}

/**
 * Counts throttled reads and writes of the table. A write that an index throttles counts only among the
 * requests of its operation.
 */
function throttlesOf(table: Storage["table"]): cloudwatch.IMetric {
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
  return new cloudwatch.MathExpression({
    expression: terms.join(" + "),
    usingMetrics,
    label: "throttled",
    ...minute,
  });
}
