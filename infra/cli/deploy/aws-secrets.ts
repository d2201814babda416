import { randomUUID } from "node:crypto";
import {
  GetSecretValueCommand,
  InvalidParameterException,
  InvalidRequestException,
  ListSecretsCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
  UpdateSecretVersionStageCommand,
} from "@aws-sdk/client-secrets-manager";
import { type SecretKind, secretTags } from "#infra/aws/secret-tags.ts";
import { orSentence, regionOf } from "./aws-cdk.ts";
import { deploymentNamed } from "./aws-deployment.ts";
import { hashKeyStays, mayFollow } from "./hash-key.ts";
import { holdsTokens, readersOf, type SecretStore } from "./secret-names.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Label of a version that is written but not current yet. */
const nextStage = "OUTBOUND_CALLS_NEXT";
const triesMax = 5;

type Values = Record<string, unknown>;

/** Secrets of a stack in Secrets Manager, which also shows whether they are there yet. */
export interface AwsSecretStore extends SecretStore {
  /** Returns a secret's value, as JSON if it is no string. */
  read(name: string): Promise<string | undefined>;
  change(name: string, toNext: (value: string | undefined) => string): Promise<void>;
  /** Resolves to false before the first deployment. @throws DeployError without valid credentials */
  exists(): Promise<boolean>;
  /** Returns the name of the stack's own table; undefined before the first deployment, or if the stack has none. */
  ownTable(): Promise<string | undefined>;
}

/**
 * The secrets of a deployment on AWS: two JSON objects in Secrets Manager, one of which only the dialer reads.
 *
 * @param name the deployment beside the first, such as `staging`
 */
export function createAwsSecretStore(
  tools: Pick<Tools, "environment" | "print">,
  name?: string,
  client: SecretsManagerClient = new SecretsManagerClient(regionOf(tools)),
): AwsSecretStore {
  const { stackName } = deploymentNamed(name);
  const find = async (kind: SecretKind) => (await findSecret(client, stackName, kind))?.arn;
  async function idOf(kind: SecretKind): Promise<string> {
    const id = await find(kind);
    if (id === undefined) {
      throw new DeployError(
        `The stack ${stackName} has no secrets here: npm run deploy:aws first.`,
      );
    }
    return id;
  }
  async function everything(): Promise<Values> {
    const ids = [await idOf("providers"), await idOf("settings")];
    const read = await Promise.all(ids.map((id) => readValues(client, id)));
    return Object.assign({}, ...read.map(({ values }) => values));
  }
  return {
    exists: async () => (await find("providers")) !== undefined,
    ownTable: async () => (await findSecret(client, stackName, "settings"))?.table,
    async names() {
      const values = Object.entries(await everything());
      return values.filter(([one, value]) => isSet(one, value)).map(([one]) => one);
    },
    read: async (one) => textOf(one, await everything()),
    async change(one, toNext) {
      await merge(client, await idOf(kindOf(one)), (current) =>
        merged(current, [[one, toNext(textOf(one, current))]], {}),
      );
      tools.print(`Set ${one} of ${stackName}.`);
    },
    async set(values, options = {}) {
      for (const kind of ["providers", "settings"] as const) {
        const own = Object.entries(values).filter(([one]) => kindOf(one) === kind);
        if (own.length === 0) continue;
        await merge(client, await idOf(kind), (current) => merged(current, own, options));
        tools.print(`Set ${own.map(([one]) => one).join(", ")} of ${stackName}.`);
      }
    },
    async remove(names) {
      for (const kind of ["providers", "settings"] as const) {
        const own = names.filter((one) => kindOf(one) === kind);
        if (own.length === 0) continue;
        await merge(client, await idOf(kind), (current) =>
          Object.fromEntries(Object.entries(current).filter(([one]) => !own.includes(one))),
        );
        tools.print(`Deleted ${own.join(", ")} of ${stackName}.`);
      }
    },
  };
}

const kindOf = (name: string): SecretKind =>
  readersOf(name).includes("api") ? "settings" : "providers";

/** The template generates a value that nobody uses in the secret of the providers. */
function isSet(name: string, value: unknown): boolean {
  return name !== "UNUSED" && value !== undefined && value !== "";
}

/** Returns a secret as text; undefined if it is not set. */
function textOf(name: string, { [name]: value }: Values): string | undefined {
  if (!isSet(name, value)) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function merged(
  current: Values,
  own: [string, string][],
  { replaces = false, keeps = [] }: NonNullable<Parameters<SecretStore["set"]>[1]>,
): Values {
  const hashKey = current["HASH_KEY"];
  const given = own.find(([one]) => one === "HASH_KEY")?.[1];
  const isUsed = Object.entries(current).some(
    ([one, value]) => holdsTokens(one) && isSet(one, value),
  );
  const mayReplace = replaces === "if unused" ? !isUsed : replaces;
  if (typeof hashKey === "string" && given !== undefined && !mayReplace) {
    if (!mayFollow(hashKey, given)) throw new DeployError(hashKeyStays);
  }
  // An array, such as the entries of tokens, stays one inside the object, as a person would write it.
  const values = own
    .filter(([one]) => !(keeps.includes(one) && isSet(one, current[one])))
    .map(([one, text]): [string, unknown] => [one, arrayIn(text) ?? text]);
  return { ...current, ...Object.fromEntries(values) };
}

function arrayIn(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Finds a stack's secret by its tags. An older stack of this name may have left its own: the newest counts. */
async function findSecret(
  client: SecretsManagerClient,
  stackName: string,
  kind: SecretKind,
): Promise<{ arn: string; table: string | undefined } | undefined> {
  const found: { arn: string; table: string | undefined; at: number }[] = [];
  let NextToken: string | undefined;
  do {
    const command = new ListSecretsCommand({
      Filters: [
        { Key: "tag-key", Values: [secretTags.stack] },
        { Key: "tag-value", Values: [stackName] },
      ],
      ...(NextToken === undefined ? {} : { NextToken }),
    });
    const page = await orSentence(() => client.send(command));
    for (const { ARN, Tags = [], CreatedDate } of page.SecretList ?? []) {
      const tag = (key: string) => Tags.find(({ Key }) => Key === key)?.Value;
      // A filter also finds values that only begin like the stack's name.
      if (tag(secretTags.stack) !== stackName || tag(secretTags.kind) !== kind) continue;
      if (ARN === undefined) continue;
      found.push({ arn: ARN, table: tag(secretTags.table), at: CreatedDate?.getTime() ?? 0 });
    }
    NextToken = page.NextToken;
  } while (NextToken !== undefined);
  return found.toSorted((one, other) => other.at - one.at)[0];
}

async function readValues(
  client: SecretsManagerClient,
  SecretId: string,
): Promise<{ values: Values; version: string | undefined }> {
  const { SecretString = "{}", VersionId } = await orSentence(() =>
    client.send(new GetSecretValueCommand({ SecretId })),
  );
  let values: unknown;
  try {
    values = JSON.parse(SecretString);
  } catch {
    values = undefined; // the parser's own message would quote the secret
  }
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new DeployError(`The secret ${SecretId} is no JSON object. Fix it in the console first.`);
  }
  return { values: { ...values }, version: VersionId };
}

/**
 * Changes a secret unless somebody else has changed it since it was read: a version is written beside the
 * current one, and the label AWSCURRENT moves to it only from the version that was read. Otherwise it is read again.
 */
async function merge(
  client: SecretsManagerClient,
  SecretId: string,
  change: (current: Values) => Values,
): Promise<void> {
  for (let tries = 1; tries <= triesMax; tries += 1) {
    const { values, version } = await readValues(client, SecretId);
    const token = randomUUID(); // the SDK may repeat the write, which then makes no second version
    const command = new PutSecretValueCommand({
      SecretId,
      ClientRequestToken: token,
      SecretString: JSON.stringify(change(values)),
      VersionStages: [nextStage],
    });
    const { VersionId = token } = await orSentence(() => client.send(command));
    try {
      await client.send(
        new UpdateSecretVersionStageCommand({
          SecretId,
          VersionStage: "AWSCURRENT",
          MoveToVersionId: VersionId,
          RemoveFromVersionId: version,
        }),
      );
      return;
    } catch (error) {
      const isMoved =
        error instanceof InvalidParameterException || error instanceof InvalidRequestException;
      if (!isMoved) return orSentence(() => Promise.reject(error));
      // The SDK may have repeated a request that had moved the label already.
      if ((await readValues(client, SecretId)).version === VersionId) return;
    }
  }
  throw new DeployError(`${SecretId} keeps changing: run this again.`);
}
