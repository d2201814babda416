import { createServer } from "node:http";
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";

interface Secret {
  tags: Record<string, string>;
  createdAt: number;
  versions: Map<string, string>;
  current: string;
}

/** Secrets Manager on this machine, as far as the deploy commands use it. */
export interface FakeSecretsManager {
  client: SecretsManagerClient;
  secrets: Map<string, Secret>;
  /** Names of the requests that were answered. */
  asked: string[];
  /** Creates a secret with one version. */
  create(arn: string, tags: Record<string, string>, values: unknown): void;
  /** Returns the values of the current version. */
  current(arn: string): Record<string, unknown>;
  /** Runs once before the label AWSCURRENT is moved: somebody else's write at the worst moment. */
  beforeMove: (() => void) | undefined;
  /** Type of the error that a label's move from another version is answered with. */
  mismatch: string;
  /** Type of the error that every request is answered with, such as `ExpiredTokenException`. */
  refusal: string | undefined;
  stop(): void;
}

/**
 * Starts a server that speaks the JSON 1.1 protocol of Secrets Manager. As its documentation of
 * UpdateSecretVersionStage says, a label moves only from the version that RemoveFromVersionId names.
 */
export async function startSecretsManager(): Promise<FakeSecretsManager> {
  const secrets: FakeSecretsManager["secrets"] = new Map();
  let clock = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const action = String(request.headers["x-amz-target"]).replace("secretsmanager.", "");
      const answer = answerOf(fake, action, JSON.parse(Buffer.concat(chunks).toString()));
      const isRefused = "__type" in answer;
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const fake: FakeSecretsManager = {
    client: new SecretsManagerClient({
      endpoint: `http://127.0.0.1:${port}`,
      region: "us-east-1",
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
    }),
    secrets,
    asked: [],
    create(arn, tags, values) {
      const versions = new Map([["version-1-of-this-secret-of-tests", JSON.stringify(values)]]);
      clock += 1;
      secrets.set(arn, {
        tags,
        createdAt: clock,
        versions,
        current: "version-1-of-this-secret-of-tests",
      });
    },
    current: (arn) => {
      const secret = secrets.get(arn);
      return JSON.parse(secret?.versions.get(secret.current) ?? "{}");
    },
    beforeMove: undefined,
    mismatch: "InvalidParameterException",
    refusal: undefined,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return fake;
}

function answerOf(
  fake: FakeSecretsManager,
  action: string,
  asked: Record<string, unknown>,
): Record<string, unknown> {
  fake.asked.push(action);
  const refused = (type: string) => ({ __type: type, message: "refused" });
  if (fake.refusal !== undefined) return refused(fake.refusal);
  if (action === "ListSecrets") {
    return {
      SecretList: [...fake.secrets].map(([ARN, { tags, createdAt }]) => ({
        ARN,
        Name: ARN,
        CreatedDate: createdAt,
        Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
      })),
    };
  }
  const secret = fake.secrets.get(String(asked["SecretId"]));
  if (secret === undefined) return refused("ResourceNotFoundException");
  if (action === "GetSecretValue")
    return { SecretString: secret.versions.get(secret.current), VersionId: secret.current };
  if (action === "PutSecretValue") {
    const id = String(asked["ClientRequestToken"]);
    secret.versions.set(id, String(asked["SecretString"]));
    if (!Array.isArray(asked["VersionStages"])) secret.current = id;
    return { VersionId: id };
  }
  if (action === "UpdateSecretVersionStage") {
    const before = fake.beforeMove;
    fake.beforeMove = undefined;
    before?.();
    if (asked["RemoveFromVersionId"] !== secret.current) return refused(fake.mismatch);
    secret.current = String(asked["MoveToVersionId"]);
    return {};
  }
  return refused("UnknownOperationException");
}
