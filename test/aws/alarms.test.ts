import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { functionNames } from "../../infra/aws/bundle.ts";
import { OutboundCallsStack } from "../../infra/aws/stack.ts";
import { lambdaLog } from "../../shared/aws/log.ts";

const bundles = mkdtempSync(join(tmpdir(), "outbound-calls-"));
for (const name of functionNames) {
  mkdirSync(join(bundles, name));
  writeFileSync(join(bundles, name, "index.mjs"), "export const handler = () => undefined;\n");
}
afterAll(() => rmSync(bundles, { recursive: true }));
const template = Template.fromStack(
  new OutboundCallsStack(new App(), "OutboundCalls-staging", { bundles }),
);

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

/** Evaluates `{ $.a.b = "text" }`, the one form of CloudWatch's filter patterns that the stack uses. */
function matches(pattern: string, line: string): boolean {
  const [, path, text] = /^\{ \$\.([\w.]+) = "([^"*]+)" \}$/.exec(pattern) ?? [];
  if (path === undefined) throw new Error(`a pattern that this test cannot evaluate: ${pattern}`);
  let value: unknown = JSON.parse(line);
  for (const name of path.split(".")) value = Object(value)[name];
  return value === text;
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
    expect(counted("alarm", "breaker.opened", {})).toEqual([
      "api.alarm",
      "breaker.opened",
      "dialer.alarm",
    ]);
    expect(counted("alarm", "call.needs_review", {})).toContain("call.needs_review");
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

describe("the alarms of the AWS stack", () => {
  it("tell of throttles by Lambda and by DynamoDB", () => {
    const alarms = Object.values(template.findResources("AWS::CloudWatch::Alarm")).map(
      ({ Properties }): { MetricName?: string; Metrics?: unknown } => Object(Properties),
    );
    expect(alarms.filter(({ MetricName }) => MetricName === "Throttles")).toHaveLength(2);
    const ledger = alarms.find(({ Metrics }) => Metrics !== undefined);
    const text = JSON.stringify(ledger);
    for (const name of ["ReadThrottleEvents", "WriteThrottleEvents", "ThrottledRequests"])
      expect(text).toContain(name);
  });

  it("read no metric that nothing counts", () => {
    const counted = filters.map(({ metric }) => metric);
    for (const { Properties } of Object.values(template.findResources("AWS::CloudWatch::Alarm"))) {
      const { Namespace, MetricName } = Object(Properties);
      if (String(Namespace).startsWith("OutboundCalls")) expect(counted).toContain(MetricName);
    }
  });
});

describe("the dashboard of the AWS stack", () => {
  it("shows what is accepted, dialed, waits by reason, needs review, and the oldest message", () => {
    const [dashboard] = Object.values(template.findResources("AWS::CloudWatch::Dashboard"));
    const text = JSON.stringify(dashboard?.["Properties"]);
    for (const shown of [
      "request.accepted",
      "call.placed",
      '{\\\\\\"OutboundCalls/OutboundCalls-staging\\\\\\",reason}',
      "call.needs_review",
      "breaker.opened",
      "ApproximateAgeOfOldestMessage",
      "sweep.completed",
    ])
      expect(text).toContain(shown);
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
      "GET /healthz",
      "GET /readyz",
      "GET /v1/requests/{id}",
      "POST /v1/calls",
      "POST /v1/calls/batch",
      "POST /v1/requests/{id}/cancel",
    ]);
  });
});
