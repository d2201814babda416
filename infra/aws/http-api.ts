import {
  aws_apigateway as restApis,
  aws_apigatewayv2 as apigateway,
  aws_logs as logs,
  CfnOutput,
  RemovalPolicy,
  type Stack,
} from "aws-cdk-lib";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { Functions } from "./functions.ts";
import { logRetention } from "./lambda-function.ts";
import type { OutboundCallsProps } from "./props.ts";

/**
 * Limits above the design load: a request refused here with 429 never reaches the application. In some regions an account
 * has 2,500 a second, and bursts of 1,250: https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 */
const throttle = { rateLimit: 2000, burstLimit: 1250 };

/** Routes that the access log distinguishes; any other request is `$default`. The function routes by itself. */
const routes: Record<string, apigateway.HttpMethod | apigateway.HttpMethod[]> = {
  "/v1/calls": apigateway.HttpMethod.POST,
  "/v1/calls/batch": apigateway.HttpMethod.POST,
  "/v1/calls/{id}": apigateway.HttpMethod.GET,
  "/v1/usage": apigateway.HttpMethod.GET,
  "/v1/requests": apigateway.HttpMethod.GET,
  "/v1/requests/{id}": apigateway.HttpMethod.GET,
  "/v1/requests/{id}/calls": apigateway.HttpMethod.GET,
  "/v1/requests/{id}/cancel": apigateway.HttpMethod.POST,
  "/v1/do-not-call": apigateway.HttpMethod.POST,
  "/v1/sent-files": apigateway.HttpMethod.POST,
  "/v1/sent-files/{step}": apigateway.HttpMethod.POST,
  "/v1/receivers": apigateway.HttpMethod.GET,
  "/v1/receivers/{name}": [apigateway.HttpMethod.PUT, apigateway.HttpMethod.DELETE],
  "/v1/receivers/{name}/rotate-secret": apigateway.HttpMethod.POST,
  "/v1/receivers/{name}/test": apigateway.HttpMethod.POST,
  "/v1/receivers/{name}/deliveries": apigateway.HttpMethod.GET,
  "/v1/receivers/{name}/replay": apigateway.HttpMethod.POST,
  "/healthz": apigateway.HttpMethod.GET,
  "/readyz": apigateway.HttpMethod.GET,
  "/operator/{proxy+}": apigateway.HttpMethod.ANY,
  "/callbacks/{proxy+}": apigateway.HttpMethod.ANY,
};

/**
 * Fields of a line of the access log: the route's pattern, never the path, which a client may fill with
 * anything, and no address of a client.
 */
const accessLogFields = {
  requestId: "$context.requestId",
  requestTime: "$context.requestTime",
  stage: "$context.stage",
  routeKey: "$context.routeKey",
  status: "$context.status",
  responseLatencyMs: "$context.responseLatency",
  integrationLatencyMs: "$context.integrationLatency",
  integrationStatus: "$context.integrationStatus",
  integrationError: "$context.integrationErrorMessage",
};

/** The address of the API, with its stages and its access log. */
export function createHttpApi(
  stack: Stack,
  props: OutboundCallsProps,
  { api }: Functions,
): apigateway.HttpApi {
  const integration = new HttpLambdaIntegration("Api", api.made);
  const httpApi = new apigateway.HttpApi(stack, "HttpApi", {
    defaultIntegration: integration,
    createDefaultStage: false,
  });
  for (const [path, method] of Object.entries(routes))
    httpApi.addRoutes({ path, methods: [method].flat(), integration });
  const accessLog = new logs.LogGroup(stack, "access-log", {
    retention: logRetention,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  for (const stageName of ["$default", ...(props.stage === undefined ? [] : [props.stage])]) {
    const name = stageName === "$default" ? "DefaultStage" : "NamedStage";
    const stage = new apigateway.HttpStage(stack, name, {
      httpApi,
      stageName,
      autoDeploy: true,
      throttle,
      accessLogSettings: {
        destination: new apigateway.LogGroupLogDestination(accessLog),
        format: restApis.AccessLogFormat.custom(JSON.stringify(accessLogFields)),
      },
    });
    new CfnOutput(stack, `${name}Url`, { value: stage.url });
  }
  return httpApi;
}
