import { resolve } from "node:path";
import {
  aws_iam as iam,
  aws_lambda as lambda,
  aws_logs as logs,
  type aws_secretsmanager as secretsmanager,
  Duration,
  RemovalPolicy,
  type Stack,
} from "aws-cdk-lib";
import type { FunctionName } from "./bundle.ts";
import type { OutboundCallsProps } from "./props.ts";
import type { Storage } from "./storage.ts";

export const logRetention = logs.RetentionDays.ONE_MONTH;

interface FunctionOptions {
  bundle: FunctionName;
  timeoutSeconds: number;
  /** Secrets whose values it reads at its start. */
  secrets: readonly secretsmanager.Secret[];
  /** Absent: CloudFormation makes the name. */
  functionName?: string;
  reservedConcurrentExecutions?: number;
  /** Variables besides those that every function has. */
  environment?: Record<string, string>;
}

/** Parts of a function: its own options, and those of all functions. */
interface FunctionParts {
  options: FunctionOptions;
  props: Pick<OutboundCallsProps, "bundles" | "basePath" | "xray">;
  storage: Storage;
}

/** A function with its role and its log. */
export interface CreatedFunction {
  made: lambda.Function;
  role: iam.Role;
  logGroup: logs.LogGroup;
}

/** Creates a function, with the variables and the rights that every function has: it may send to both queues. */
export function createFunction(
  stack: Stack,
  name: string,
  { options, props, storage }: FunctionParts,
): CreatedFunction {
  const { queue, eventsQueue, table, bucket } = storage;
  const { bundle, timeoutSeconds, secrets, environment, ...others } = options;
  const logGroup = new logs.LogGroup(stack, `${name}-log`, {
    retention: logRetention,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const role = new iam.Role(stack, `${name}-role`, {
    assumedBy: new iam.ServicePrincipal("lambda.amazonaws.com"),
  });
  logGroup.grantWrite(role);
  const made = new lambda.Function(stack, name, {
    ...others,
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: lambda.Architecture.ARM_64,
    handler: "index.handler",
    code: lambda.Code.fromAsset(resolve(props.bundles, bundle)),
    memorySize: 512,
    timeout: Duration.seconds(timeoutSeconds),
    role,
    logGroup,
    // Lambda ends a chain of some 16 invocations in which each invocation has caused the next by a queue or a call. A
    // longer chain would be our endless loop by mistake. The alarm LoopsStopped reports each stopped chain.
    recursiveLoop: lambda.RecursiveLoop.TERMINATE,
    // Metric filters read the fields of the events.
    loggingFormat: lambda.LoggingFormat.JSON,
    // A trace holds the invocation alone, as the SDK is not instrumented.
    tracing: props.xray === true ? lambda.Tracing.ACTIVE : lambda.Tracing.DISABLED,
    environment: {
      QUEUE_URL: queue.queueUrl,
      EVENTS_QUEUE_URL: eventsQueue.queueUrl,
      BUCKET: bucket.bucketName,
      TABLE: table.tableName,
      SECRET_IDS: secrets.map(({ secretArn }) => secretArn).join(),
      ...(props.basePath === undefined ? {} : { BASE_PATH: props.basePath }),
      ...environment,
    },
  });
  for (const secret of secrets) secret.grantRead(role);
  queue.grantSendMessages(role);
  eventsQueue.grantSendMessages(role);
  return { made, role, logGroup };
}
