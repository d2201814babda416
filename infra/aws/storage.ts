import {
  aws_dynamodb as dynamodb,
  aws_s3 as s3,
  aws_secretsmanager as secretsmanager,
  aws_sqs as sqs,
  Duration,
  Fn,
  RemovalPolicy,
  type Stack,
  Tags,
} from "aws-cdk-lib";
import { dynamoTable, keyTypeOf } from "#shared/aws/dynamodb-table.ts";
import { dialerTimeoutSeconds } from "./limits.ts";
import type { OutboundCallsProps } from "./props.ts";
import { secretTags } from "./secret-tags.ts";

/** Six times the function's timeout, as Lambda's documentation asks of a queue that it polls. */
const visibilityTimeout = Duration.seconds(6 * dialerTimeoutSeconds);
const retentionPeriod = Duration.days(14);
/**
 * The stores of calls, and the key of their hashes, outlive the stack. Stores of a failed first deployment are empty
 * and are deleted, because they would block the next deployment.
 */
const kept = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;

type LedgerProps = Pick<
  OutboundCallsProps,
  "ledgerTable" | "ledgerIndexes" | "withoutLedger" | "isUnprotected"
>;

/** The queues, the table, the bucket and the secrets. */
export function createStorage(stack: Stack, id: string, props: LedgerProps = {}) {
  const { ledgerTable, withoutLedger = false } = props;
  const queues = createQueues(stack, id);
  const ownTable = withoutLedger ? undefined : createTable(stack, props);
  const restored =
    ledgerTable === undefined
      ? undefined
      : dynamodb.TableV2.fromTableName(stack, "RestoredLedger", ledgerTable);
  const table = restored ?? ownTable;
  if (table === undefined) throw new Error("a stack without its own table needs ledgerTable");
  const bucket = createBucket(stack);
  const secrets = createSecrets(stack);
  if (ownTable !== undefined) Tags.of(secrets.settings).add(secretTags.table, ownTable.tableName);
  return { ...queues, table, bucket, ...secrets };
}
export type Storage = ReturnType<typeof createStorage>;

function createQueues(stack: Stack, id: string) {
  const createQueue = (name: string, props: sqs.QueueProps) =>
    new sqs.Queue(stack, name, {
      visibilityTimeout,
      retentionPeriod,
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      removalPolicy: kept,
      ...props,
    });
  // A part of the stack's id: queues that an earlier stack of this name has left keep their names.
  const stackId = Fn.select(0, Fn.split("-", Fn.select(2, Fn.split("/", stack.stackId))));
  const queueName = (end: string) => `${id}-${stackId}-${end}`;
  const deadLettersTo = (queue: sqs.Queue) => ({
    deadLetterQueue: { queue, maxReceiveCount: 100 },
  });
  // The dialer tells its queues apart by the ends of their names.
  const deadQueue = createQueue("DeadCalls", { queueName: queueName("dead") });
  const queue = createQueue("Calls", deadLettersTo(deadQueue));
  const deadEventsQueue = createQueue("DeadEvents", { queueName: queueName("events-dead") });
  const eventsQueue = createQueue("Events", {
    queueName: queueName("events"),
    ...deadLettersTo(deadEventsQueue),
  });
  return { queue, deadQueue, eventsQueue, deadEventsQueue };
}

/** Creates the ledger's table. It stays in the stack beside a restored one, so that the setting may be taken back. */
function createTable(
  stack: Stack,
  { ledgerIndexes: indexes = dynamoTable.indexes, isUnprotected = false }: LedgerProps,
): dynamodb.TableV2 {
  const { hashKey, rangeKey, ttl } = dynamoTable;
  const { BINARY, STRING } = dynamodb.AttributeType;
  const key = (name: string) => ({ name, type: keyTypeOf(name) === "B" ? BINARY : STRING });
  return new dynamodb.TableV2(stack, "Ledger", {
    partitionKey: key(hashKey),
    sortKey: key(rangeKey),
    globalSecondaryIndexes: Object.entries(indexes).map(([indexName, index]) => ({
      indexName,
      partitionKey: key(index.hashKey),
      sortKey: key(index.rangeKey),
      projectionType: dynamodb.ProjectionType.KEYS_ONLY,
    })),
    billing: dynamodb.Billing.onDemand(),
    timeToLiveAttribute: ttl,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    removalPolicy: kept,
    deletionProtection: !isUnprotected,
  });
}

function createBucket(stack: Stack) {
  return new s3.Bucket(stack, "Messages", {
    encryption: s3.BucketEncryption.S3_MANAGED,
    blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    // Must be longer than the retention of both queues together.
    lifecycleRules: ["messages/", "dead-letters/"].map((prefix) => ({
      prefix,
      expiration: Duration.days(30),
    })),
    removalPolicy: kept,
  });
}

function createSecrets(stack: Stack) {
  // Secrets Manager generates HASH_KEY: 64 hex digits that no template has seen. It stays with
  // the table, whose hashes of numbers and do-not-call list mean nothing without it.
  const settings = new secretsmanager.Secret(stack, "Settings", {
    description: "API_TOKENS, HASH_KEY and webhooks' secrets, as a JSON object",
    // Any change here has CloudFormation replace the secret of a stack that stands, with HASH_KEY and all tokens
    // (docs.aws.amazon.com, AWS::SecretsManager::Secret GenerateSecretString).
    generateSecretString: {
      // Without API_TOKENS: an empty list is one that a person has emptied.
      secretStringTemplate: "{}",
      generateStringKey: "HASH_KEY",
      passwordLength: 64,
      excludePunctuation: true,
      excludeUppercase: true,
      excludeCharacters: "ghijklmnopqrstuvwxyz",
      requireEachIncludedType: false,
    },
    removalPolicy: kept,
  });

  const providerSecrets = new secretsmanager.Secret(stack, "ProviderSecrets", {
    description: "The other secrets of dialing providers and receivers of events, as a JSON object",
    generateSecretString: { secretStringTemplate: "{}", generateStringKey: "UNUSED" },
  });
  for (const [kind, secret] of [
    ["settings", settings],
    ["providers", providerSecrets],
  ] as const) {
    Tags.of(secret).add(secretTags.stack, stack.stackName);
    Tags.of(secret).add(secretTags.kind, kind);
  }
  return { settings, providerSecrets };
}
