import {
  aws_apigatewayv2 as apigateway,
  aws_logs as logs,
  CfnOutput,
  RemovalPolicy,
  type Stack,
} from "aws-cdk-lib";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import { type Functions, logRetention } from "./functions.ts";
import type { OutboundCallsProps } from "./props.ts";

/** Limits above the design load: a request refused here with 429 never reaches the application. */
const throttle = { rateLimit: 2000, burstLimit: 4000 };

/** The address of the API, with its stages and its access log. */
export function createHttpApi(
  stack: Stack,
  props: OutboundCallsProps,
  { api }: Functions,
): apigateway.HttpApi {
  const httpApi = new apigateway.HttpApi(stack, "HttpApi", {
    defaultIntegration: new HttpLambdaIntegration("Api", api.made),
    createDefaultStage: false,
  });
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
      accessLogSettings: { destination: new apigateway.LogGroupLogDestination(accessLog) },
    });
    new CfnOutput(stack, `${name}Url`, { value: stage.url });
  }
  return httpApi;
}
