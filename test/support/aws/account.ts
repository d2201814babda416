import { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { createCloudFormation } from "./cloudformation.ts";
import { type FakeDynamoDB, type FakeTable, standing, startDynamoDB } from "./dynamodb.ts";
import { type AwsEndpoint, startAwsEndpoint } from "./endpoint.ts";
import { createS3 } from "./s3.ts";
import { type FakeSecretsManager, startSecretsManager } from "./secrets-manager.ts";
import { createSsm } from "./ssm.ts";
import { fresh, type Resource, type ResourceHandler } from "./stack-execution.ts";
import { createStacks, putStack, Refused, type Stacks } from "./stacks.ts";
import { accountId, sts } from "./sts.ts";

/** Name of the bucket of cdk's assets. */
const assetsBucket = `cdk-hnb659fds-assets-${accountId}-us-east-1`;

/** An account of AWS on this machine: what cdk asks at `endpoint`, and what the deploy command asks besides. */
export interface FakeAccount {
  endpoint: AwsEndpoint;
  stacks: Stacks;
  dynamo: FakeDynamoDB;
  secrets: FakeSecretsManager;
  cloudFormation: CloudFormationClient;
  /** Variables by which cdk finds it. */
  environment: Record<string, string>;
  /** Makes it an account in which `cdk bootstrap` was never run. */
  unbootstrap(): void;
  stop(): void;
}

/** Starts an account in which `cdk bootstrap` was run. */
export async function startAccount(): Promise<FakeAccount> {
  const [dynamo, secrets] = [await startDynamoDB(), await startSecretsManager()];
  const stacks = createStacks();
  const parameters = new Map<string, string>();
  const buckets = new Map<string, Map<string, Buffer>>();
  const bootstrapHandlers: [string, ResourceHandler][] = [
    ["AWS::SSM::Parameter", parametersIn(parameters)],
    ["AWS::S3::Bucket", bucketsIn(buckets)],
  ];
  stacks.handlers = new Map([
    ["AWS::DynamoDB::GlobalTable", tablesIn(dynamo)],
    ["AWS::SecretsManager::Secret", secretsIn(secrets)],
    ...bootstrapHandlers,
  ]);
  parameters.set("/cdk-bootstrap/hnb659fds/version", "30");
  buckets.set(assetsBucket, new Map());
  putStack(stacks, "CDKToolkit", {
    Outputs: {
      BucketName: { Value: assetsBucket },
      BucketDomainName: { Value: `${assetsBucket}.s3.us-east-1.amazonaws.com` },
      BootstrapVersion: { Value: "30" },
    },
  });
  const endpoint = await startAwsEndpoint({
    cloudformation: createCloudFormation(stacks, (url) => objectAt(buckets, url)),
    sts,
    ssm: createSsm(parameters),
    s3: createS3(buckets),
  });
  return {
    endpoint,
    stacks,
    dynamo,
    secrets,
    cloudFormation: new CloudFormationClient({
      endpoint: endpoint.url,
      region: "us-east-1",
      credentials: { accessKeyId: "AKIAADA", secretAccessKey: "secret" },
      maxAttempts: 1,
    }),
    environment: {
      AWS_ENDPOINT_URL: endpoint.url,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "AKIAADA",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_EC2_METADATA_DISABLED: "true",
    },
    unbootstrap() {
      for (const one of [parameters, buckets]) one.clear();
      stacks.all = stacks.all.filter(({ name }) => name !== "CDKToolkit");
    },
    stop() {
      for (const one of [endpoint, dynamo, secrets]) one.stop();
    },
  };
}

/** Reads an object by its URL: its bucket is the first part of the path, or of the host. */
function objectAt(buckets: ReadonlyMap<string, Map<string, Buffer>>, url: string): string {
  const { hostname, pathname } = new URL(url);
  const [host = ""] = hostname.split(".");
  const path = pathname.slice(1);
  const [first = "", ...rest] = path.split("/");
  const found = buckets.get(host)?.get(path) ?? buckets.get(first)?.get(rest.join("/"));
  if (found === undefined) throw new Refused(`S3 error: ${url}`);
  return found.toString();
}

const textIn = ({ properties }: Resource, name: string): string => {
  const value = properties[name];
  return typeof value === "string" ? value : "";
};

const parametersIn = (parameters: Map<string, string>): ResourceHandler => ({
  create: (one) => void parameters.set(textIn(one, "Name"), textIn(one, "Value")),
  remove: (one) => void parameters.delete(textIn(one, "Name")),
});

const bucketsIn = (buckets: Map<string, Map<string, Buffer>>): ResourceHandler => ({
  create: (one) => void buckets.set(textIn(one, "BucketName") || one.physicalId, new Map()),
  remove: (one) => void buckets.delete(textIn(one, "BucketName") || one.physicalId),
});

interface Tag {
  Key: string;
  Value: string;
}

function secretsIn(secrets: FakeSecretsManager): ResourceHandler {
  const tagsOf = ({ properties }: Resource) =>
    Object.fromEntries(Object(properties["Tags"] ?? []).map(({ Key, Value }: Tag) => [Key, Value]));
  return {
    nameOf: (logicalId) =>
      `arn:aws:secretsmanager:us-east-1:${accountId}:secret:${logicalId}-${fresh()}`,
    create(resource) {
      const { SecretStringTemplate: json, GenerateStringKey: key } = Object(
        resource.properties["GenerateSecretString"],
      );
      const values = { ...JSON.parse(json), [key]: "ab".repeat(32) };
      secrets.create(resource.physicalId, tagsOf(resource), values);
    },
    update(resource) {
      const secret = secrets.secrets.get(resource.physicalId);
      if (secret !== undefined) secret.tags = tagsOf(resource);
    },
    remove: ({ physicalId }) => void secrets.secrets.delete(physicalId),
  };
}

interface Keys {
  KeySchema: { AttributeName: string }[];
}

/** Tables, as the reference of AWS::DynamoDB::GlobalTable and of UpdateTable describe them. */
function tablesIn({ tables }: FakeDynamoDB): ResourceHandler {
  const namesOf = ({ KeySchema }: Keys) => KeySchema.map(({ AttributeName }) => AttributeName);
  const tableOf = ({ properties }: Resource): FakeTable => {
    const { KeySchema, TimeToLiveSpecification, Replicas, GlobalSecondaryIndexes } =
      Object(properties);
    const [replica] = Replicas;
    const indexes: (Keys & { IndexName: string })[] = GlobalSecondaryIndexes ?? [];
    return {
      keys: namesOf({ KeySchema }),
      ttl: TimeToLiveSpecification?.AttributeName,
      hasRecovery: replica.PointInTimeRecoverySpecification?.PointInTimeRecoveryEnabled === true,
      isProtected: replica.DeletionProtectionEnabled === true,
      indexes: new Map(indexes.map((one) => [one.IndexName, standing(namesOf(one))])),
    };
  };
  return {
    create: (resource) => void tables.set(resource.physicalId, tableOf(resource)),
    update(resource) {
      const current = tables.get(resource.physicalId);
      const next = tableOf(resource);
      const changed = [...next.indexes.keys()].filter((one) => current?.indexes.has(one) !== true);
      const gone = [...(current?.indexes.keys() ?? [])].filter((one) => !next.indexes.has(one));
      if (changed.length + gone.length > 1) {
        throw new Error("Cannot perform more than one GSI creation or deletion in a single update");
      }
      tables.set(resource.physicalId, { ...current, ...next });
    },
    remove({ physicalId }) {
      if (tables.get(physicalId)?.isProtected === true) {
        throw new Error(
          `Resource cannot be deleted as it is currently protected against deletion. Table: ${physicalId}`,
        );
      }
      tables.delete(physicalId);
    },
  };
}
