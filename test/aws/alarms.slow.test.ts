import { readFileSync } from "node:fs";
import type { Template } from "#infra/aws/cdk.ts";
import { afterEach, describe, expect, it, vi } from "vitest";
import dialPlan from "#infra/dial-plan.json" with { type: "json" };
import { lambdaLog } from "#shared/aws/log.ts";
import { parseDialPlan } from "../support/plans.ts";
import { useStacks } from "../support/aws-stacks.ts";
import { createDialerBench } from "../support/dialer.ts";

const { templateOf } = useStacks();
const template = templateOf({}, "OutboundCalls-staging");

interface Filter {
  pattern: string;
  logGroup: string;
  metric: string;
  value: string;
}
const filters = Object.values(template.findResources("AWS::Logs::MetricFilter")).map(
  ({ Properties }): Filter => {
    const { FilterPattern, LogGroupName, MetricTransformations } = Object(Properties);
    const [{ MetricName, MetricValue }] = MetricTransformations;
    return {
      pattern: FilterPattern,
      logGroup: LogGroupName.Ref,
      metric: MetricName,
      value: MetricValue,
    };
  },
);

/** Evaluates `$.a.b = "text"` and its like joined by `&&`, the forms of CloudWatch's filter patterns that the stack uses. */
function matches(pattern: string, line: string): boolean {
  const terms = pattern.replace(/^\{ (.*) \}$/, "$1").split(" && ");
  return terms.every((term) => {
    const [, path, comparison, text] = /^\(?\$\.([\w.]+) (!?=) "([^"*]+)"\)?$/.exec(term) ?? [];
    if (path === undefined) throw new Error(`a pattern that this test cannot evaluate: ${pattern}`);
    let value: unknown = JSON.parse(line);
    for (const name of path.split(".")) value = Object(value)[name];
    return (value === text) === (comparison === "=");
  });
}

/**
 * Returns the lines that Lambda writes while `act` prints. In its JSON format a sole argument becomes
 * `message` as it is (aws-lambda-nodejs-runtime-interface-client, src/LogPatch.js, formatJsonMessage).
 */
function linesOf(act: () => void): string[] {
  const lines: string[] = [];
  for (const [method, level] of [
    ["log", "INFO"],
    ["warn", "WARN"],
    ["error", "ERROR"],
  ] as const) {
    vi.spyOn(console, method).mockImplementation((message: unknown) => {
      const timestamp = "2026-11-21T10:00:00.000Z";
      lines.push(JSON.stringify({ timestamp, level, requestId: "1-2", message }));
    });
  }
  act();
  return lines;
}
afterEach(() => vi.restoreAllMocks());

const metricsOf = (lines: string[]) => {
  const counting = filters.filter(({ pattern }) => lines.some((line) => matches(pattern, line)));
  return [...new Set(counting.map(({ metric }) => metric))].toSorted();
};

describe("the metric filters of the AWS stack", () => {
  it("count events through the real log of the functions, each of them in its own metric", () => {
    const counted = (...[level, event]: Parameters<typeof lambdaLog>) =>
      metricsOf(linesOf(() => lambdaLog(level, event, {})));
    // The API's log has none of these, whose alarms follow from what a sweep measures or does.
    for (const event of ["call.needs_review", "calls.overdue", "sweep.late"])
      expect(counted("alarm", event, {})).toEqual(["api.alarm"]);
    expect(counted("alarm", "breaker.opened", {})).toEqual(["api.alarm", "breaker.opened"]);
    expect(counted("warning", "breaker.opened", {})).toEqual([]); // as another of its agent has within the hour
    expect(counted("alarm", "dispatcher.silent", {})).toEqual(["api.alarm", "dispatcher.silent"]);
    expect(counted("info", "sweep.measured", {})).toEqual([
      "due_calls",
      "needs_review",
      "oldest_due_seconds",
      "oldest_expired_seconds",
      "open_breakers",
    ]);
    for (const event of ["call.placed", "call.rejected", "request.accepted", "sweep.completed"])
      expect(counted("info", event, {})).toEqual([event]);
    for (const event of ["events.exhausted", "events.late", "events.orphaned"]) {
      expect(counted("alarm", event, {})).toEqual(["api.alarm", "dialer.alarm"]);
    }
    expect(counted("alarm", "ledger.unreachable", {})).toEqual(["api.alarm", "dialer.alarm"]);
    expect(counted("warning", "call.unknown", {})).toEqual([]);
  });

  it("raise nothing for agents and clients that are named like alarms", () => {
    const names = [
      "alarm",
      "account",
      "call.needs_review",
      "breaker.opened",
      'level":"alarm',
      '"event":"breaker.opened"',
    ];
    const lines = linesOf(() => {
      for (const name of names) {
        const fields = { agent_id: name, client: name, token_id: name, reason: name, code: name };
        lambdaLog("info", "call.placed", { call_id: "call_1", ...fields });
        lambdaLog("warning", "call.unknown", fields);
        // A provider or a library that prints text makes a message of it, whatever the text says.
        console.log(name);
        console.log(JSON.stringify({ level: "alarm", event: "breaker.opened" }));
      }
    });
    expect(lines).toHaveLength(4 * names.length);
    expect(metricsOf(lines)).toEqual(["call.placed"]);
  });

  it("take the figures of a sweep from the fields that it logs, in the real log", async () => {
    const bench = createDialerBench();
    await bench.sweep();
    const [measured = {}] = bench.eventsOf("sweep.measured");
    for (const { pattern, metric, value } of filters) {
      if (!pattern.includes("sweep.measured")) continue;
      expect(value).toBe(`$.message.${metric}`);
      expect(Object(measured)[metric]).toBe(0);
    }
  });

  it("count accepted calls, not requests, and the reasons why calls wait", () => {
    expect(filters.find(({ metric }) => metric === "request.accepted")?.value).toBe(
      "$.message.count",
    );
    template.hasResourceProperties("AWS::Logs::MetricFilter", {
      FilterPattern: '{ $.message.event = "call.waiting" }',
      MetricTransformations: [
        {
          MetricName: "call.waiting",
          MetricNamespace: "OutboundCalls/OutboundCalls-staging",
          MetricValue: "1",
          Dimensions: [{ Key: "reason", Value: "$.message.reason" }],
        },
      ],
    });
  });

  it("read the logs of functions that write JSON", () => {
    const functions = Object.values(template.findResources("AWS::Lambda::Function")).map(
      ({ Properties }): { LogFormat: string; LogGroup: { Ref: string } } =>
        Object(Properties).LoggingConfig,
    );
    expect(functions.map(({ LogFormat }) => LogFormat)).toEqual(["JSON", "JSON", "JSON"]);
    const groups = new Set(functions.map(({ LogGroup }) => LogGroup.Ref));
    expect(groups.size).toBe(3);
    for (const { logGroup } of filters) expect(groups).toContain(logGroup);
  });

  it("count what the dispatcher decides and raises as if the dialer had, each line once", () => {
    const countedIn = (start: string) =>
      filters.filter(({ logGroup }) => logGroup.startsWith(start)).map(({ metric }) => metric);
    const ofDispatcher = countedIn("dispatcherlog");
    expect(ofDispatcher.toSorted()).toEqual(["call.rejected", "call.waiting", "dialer.alarm"]);
    expect(countedIn("dialerlog")).toEqual(expect.arrayContaining(ofDispatcher));
    expect(new Set(filters.map((one) => JSON.stringify(one))).size).toBe(filters.length);
  });
});

interface Alarm {
  MetricName?: string;
  Namespace?: string;
  Metrics?: {
    Id: string;
    Expression?: string;
    MetricStat?: { Metric: { MetricName: string; Namespace?: string } };
  }[];
  Threshold: number;
  EvaluationPeriods: number;
  DatapointsToAlarm?: number;
  TreatMissingData: string;
  AlarmActions: unknown[];
  OKActions: unknown[];
}
const alarmsOf = (one: Template): Record<string, Alarm> =>
  Object.fromEntries(
    Object.entries(one.findResources("AWS::CloudWatch::Alarm")).map(
      ([id, { Properties }]): [string, Alarm] => [
        id.replace(/[0-9A-F]{8}$/, ""),
        Object(Properties),
      ],
    ),
  );
const alarms = alarmsOf(template);
const readBy = (name: string) => {
  const { MetricName, Metrics = [] } = alarms[name] ?? {};
  const names = Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric.MetricName ?? []);
  return [...(MetricName === undefined ? [] : [MetricName]), ...names];
};

describe("the alarms of the AWS stack", () => {
  it("report throttling by Lambda and by DynamoDB", () => {
    expect(readBy("DialerThrottles")).toEqual(["Throttles"]);
    const text = JSON.stringify(alarms["LedgerThrottles"]);
    for (const name of ["ReadThrottleEvents", "WriteThrottleEvents", "ThrottledRequests"])
      expect(text).toContain(name);
  });

  it("report invocations that Lambda drops as a loop, for each function", () => {
    const functions = Object.entries(template.findResources("AWS::Lambda::Function"));
    // Stated, as Lambda's default may change: without it a mistake of ours would go round for ever.
    for (const [, { Properties }] of functions) expect(Properties.RecursiveLoop).toBe("Terminate");
    const stats = alarms["LoopsStopped"]?.Metrics?.flatMap(({ MetricStat }) => MetricStat ?? []);
    const watched = stats?.map(({ Metric }) => [Metric.MetricName, Object(Metric).Dimensions]);
    expect(watched).toEqual(
      functions.map(([id]) => [
        "RecursiveInvocationsDropped",
        [{ Name: "FunctionName", Value: { Ref: id } }],
      ]),
    );
    expect(alarms["LoopsStopped"]?.Threshold).toBe(0);
  });

  it("read no metric that nothing counts", () => {
    const counted = new Set(filters.map(({ metric }) => metric));
    const logged = Object.values(alarms).flatMap(({ Metrics = [], ...alone }) =>
      [alone, ...Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric ?? [])].flatMap(
        ({ Namespace, MetricName }) =>
          String(Namespace).startsWith("OutboundCalls") ? [MetricName] : [],
      ),
    );
    expect(logged.length).toBeGreaterThan(5);
    expect(logged.filter((name = "") => !counted.has(name))).toEqual([]);
  });

  it("take a minute without data for a zero, and do not look for older data", () => {
    const sparse = Object.entries(alarms).filter(([, one]) => one.TreatMissingData !== "ignore");
    for (const [name, { Metrics = [] }] of sparse) {
      const [{ Expression = "" } = {}, ...read] = Metrics;
      expect(read.length, name).toBeGreaterThan(0);
      for (const { Id } of read) expect(Expression, name).toContain(`FILL(${Id}, 0)`);
    }
  });

  it("are raised although their latest minutes have not come yet, and count as 0", () => {
    for (const [name, { EvaluationPeriods, DatapointsToAlarm }] of Object.entries(alarms))
      expect(EvaluationPeriods - (DatapointsToAlarm ?? EvaluationPeriods), name).toBeGreaterThan(2);
  });

  it("report five minutes without a full sweep, also if there was none at all", () => {
    expect(readBy("SweepLate")).toEqual(["sweep.completed"]);
    expect(alarms["SweepLate"]).toMatchObject({ DatapointsToAlarm: 7, Threshold: 0 });
    expect(alarms["SweepLate"]?.TreatMissingData).toBe("breaching");
    expect(alarms["SweepLate"]?.Metrics?.[0]?.Expression).toBe("IF(FILL(counted, 0) == 0, 1, 0)");
  });

  it("notify when they clear too, all through one topic, whose ARN is an output", () => {
    const [topic] = Object.keys(template.findResources("AWS::SNS::Topic"));
    for (const { AlarmActions, OKActions } of Object.values(alarms)) {
      expect([AlarmActions, OKActions]).toEqual([[{ Ref: topic }], [{ Ref: topic }]]);
    }
    template.hasOutput("AlarmTopic", { Value: { Ref: topic } });
  });

  it("go to a topic that is there already, and to a person", () => {
    const alarmTopicArn = "arn:aws:sns:us-east-1:111122223333:pager";
    const alarmEmail = "ada@example.com";
    const given = templateOf({ alarmTopicArn, alarmEmail });
    given.resourceCountIs("AWS::SNS::Topic", 0);
    for (const { AlarmActions } of Object.values(alarmsOf(given)))
      expect(AlarmActions).toEqual([alarmTopicArn]);
    given.hasOutput("AlarmTopic", { Value: alarmTopicArn });
    given.hasResourceProperties("AWS::SNS::Subscription", {
      Protocol: "email",
      Endpoint: alarmEmail,
      TopicArn: alarmTopicArn,
    });
  });

  it("stay raised while their cause lasts: a figure, waiting messages, or minutes after an event", () => {
    const kinds = Object.entries(alarms).map(([name, one]) => {
      const { EvaluationPeriods: minutes, DatapointsToAlarm: above = minutes } = one;
      return [name, above === 1 && minutes > 10 ? `${minutes} min after` : one.TreatMissingData];
    });
    expect(Object.fromEntries(kinds)).toEqual({
      // Without a sweep its figures are unknown, and their alarms stay as they are.
      CallsNeedReview: "ignore",
      OldestDueCall: "ignore",
      BreakersOpen: "ignore",
      // Raised for minutes by each opening.
      BreakersOpened: "notBreaching",
      SweepLate: "breaching",
      // Raised anew each minute by the sweep.
      DispatcherSilent: "notBreaching",
      DialerAlarms: "60 min after",
      ApiAlarms: "60 min after",
      DialerErrors: "15 min after",
      DispatcherErrors: "15 min after",
      LoopsStopped: "60 min after",
      ServerErrors: "15 min after",
      // Their metrics go on each minute while the condition does. An unused queue has none: it is empty.
      CallsStuck: "notBreaching",
      EventsStuck: "notBreaching",
      OldestMessage: "notBreaching",
      OldestEvent: "notBreaching",
      DeadLetters: "notBreaching",
      EventDeadLetters: "notBreaching",
      DialerThrottles: "notBreaching",
      LedgerThrottles: "notBreaching",
    });
  });

  it("see messages of a consumer that fails, which are hidden, and that none is finished", () => {
    const both = ["ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible"];
    for (const name of ["DeadLetters", "EventDeadLetters"]) expect(readBy(name)).toEqual(both);
    for (const [name, minutes, queue] of [
      ["CallsStuck", 15, "calls"],
      ["EventsStuck", 30, "events"],
    ] as const) {
      expect(readBy(name)).toEqual([...both, "NumberOfMessagesDeleted"]);
      expect(alarms[name]?.DatapointsToAlarm).toBe(minutes);
      expect(alarms[name]?.Metrics?.[0]?.Expression).toBe(
        `IF(FILL(${queue}Visible, 0) + FILL(${queue}Hidden, 0) > 0 AND FILL(finished, 0) == 0, 1, 0)`,
      );
    }
  });

  it("report a call that has been due for half of the plan's expireAfterHours", () => {
    expect(alarms["OldestDueCall"]?.Threshold).toBe((168 / 2) * 3600);
    const plan = parseDialPlan({ ...dialPlan, expireAfterHours: 24 }, {});
    expect(alarmsOf(templateOf({ plan }))["OldestDueCall"]?.Threshold).toBe(12 * 3600);
  });

  it("are those of docs/deploy-aws.md, and cost what it says", () => {
    const page = readFileSync("docs/deploy-aws.md", "utf8");
    const [, list = ""] = /^## Alarms\n\n(.*?)\n\n/ms.exec(page) ?? [];
    const names = list.split("\n").flatMap((line) => {
      const [cell = ""] = line.split(":");
      return [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
    });
    expect(names.toSorted()).toEqual(Object.keys(alarms).toSorted());
    const metrics = Object.values(alarms).flatMap(
      ({ Metrics }) => Metrics?.flatMap(({ MetricStat }) => (MetricStat ? 1 : [])) ?? [1],
    );
    const dollars = (metrics.length / 10).toFixed(2);
    expect(page).toContain(`alarms $${dollars} (${metrics.length} metrics)`);
  });
});

describe("the dashboard of the AWS stack", () => {
  it("shows what an operator asks first, then the stages of a call in order", () => {
    const [dashboard] = Object.values(template.findResources("AWS::CloudWatch::Dashboard"));
    const body = JSON.stringify(dashboard?.["Properties"]);
    const positions = [
      '\\"type\\":\\"alarm\\"',
      "singleValue",
      "needs_review",
      "due_calls",
      "oldest_due_seconds",
      "open_breakers",
      "oldest_expired_seconds",
      "dead letters of events",
      "request.accepted",
    ].map((shown) => body.indexOf(shown));
    expect(positions).not.toContain(-1);
    expect(positions).toEqual(positions.toSorted((one, other) => one - other));
    for (const shown of [
      "call.placed",
      "reason} MetricName=",
      "ApproximateAgeOfOldestMessage",
      "eventsVisible",
      "sweep.completed",
      "4xx",
      "5xx",
      "Duration",
      "ConcurrentExecutions",
    ])
      expect(body).toContain(shown);
  });
});

describe("the access log of the API", () => {
  it("holds the pattern of the route, and neither its path nor the client's address", () => {
    for (const { Properties } of Object.values(
      template.findResources("AWS::ApiGatewayV2::Stage"),
    )) {
      const format = JSON.parse(Object(Properties).AccessLogSettings.Format);
      expect(Object.values(format)).toEqual(
        expect.arrayContaining([
          "$context.requestId",
          "$context.routeKey",
          "$context.status",
          "$context.responseLatency",
          "$context.integrationErrorMessage",
        ]),
      );
      expect(JSON.stringify(format)).not.toMatch(/path|sourceIp|identity|userAgent/);
    }
    const routes = Object.values(template.findResources("AWS::ApiGatewayV2::Route")).map(
      ({ Properties }): string => Object(Properties).RouteKey,
    );
    expect(routes.toSorted()).toEqual([
      "$default",
      "ANY /callbacks/{proxy+}",
      "ANY /operator/{proxy+}",
      "DELETE /v1/receivers/{name}",
      "GET /healthz",
      "GET /readyz",
      "GET /v1/calls/{id}",
      "GET /v1/receivers",
      "GET /v1/receivers/{name}/deliveries",
      "GET /v1/requests",
      "GET /v1/requests/{id}",
      "GET /v1/requests/{id}/calls",
      "GET /v1/usage",
      "POST /v1/calls",
      "POST /v1/calls/batch",
      "POST /v1/do-not-call",
      "POST /v1/receivers/{name}/replay",
      "POST /v1/receivers/{name}/rotate-secret",
      "POST /v1/receivers/{name}/test",
      "POST /v1/requests/{id}/cancel",
      "POST /v1/sent-files",
      "POST /v1/sent-files/{step}",
      "PUT /v1/receivers/{name}",
    ]);
  });
});
