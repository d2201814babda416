import type { ServerResponse } from "node:http";
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { AwsV4Signer } from "aws4fetch";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDynamoClient } from "#shared/aws/dynamodb-client.ts";
import { addressOf, endpointIn } from "#shared/aws/signed-post.ts";
import { type Received, startReceiver } from "#test/support/receiver.ts";

const credentials = { accessKeyId: "AKID", secretAccessKey: "secret", sessionToken: "session" };
const account = { region: "eu-central-1", credentials };
const key = { pk: { S: "p" }, sk: { S: "s" } };
const get = { TableName: "ledger", Key: key };

let server: Awaited<ReturnType<typeof startReceiver>>;
let answer: (request: Received, response: ServerResponse) => void;
const date = new Date().toUTCString();
const answerJson = (status: number, body: unknown) => (_: Received, response: ServerResponse) => {
  response.writeHead(status, { date }).end(JSON.stringify(body));
};
const create = (own: Parameters<typeof createDynamoClient>[0]["account"] = account) =>
  createDynamoClient({ account: own, endpoint: server.url });

beforeEach(async () => {
  server = await startReceiver((request, response) => answer(request, response));
  answer = answerJson(200, {});
  vi.spyOn(Math, "random").mockReturnValue(0); // the waits before retries are a random part of their maximum
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await server.close();
});

describe("a request of DynamoDB", () => {
  it("is signed as another library signs it, session and body included", async () => {
    await create().send("GetItem", get);
    const [request] = server.received;
    if (request === undefined) throw new Error("nothing was sent");
    const { method, path, text, headers } = request;
    expect([method, path, JSON.parse(text)]).toEqual(["POST", "/", get]);
    expect(headers).toMatchObject({
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": "DynamoDB_20120810.GetItem",
      "x-amz-security-token": "session",
    });
    const { authorization = "" } = headers;
    const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(";") ?? [];
    expect(names).toEqual(expect.arrayContaining(["host", "x-amz-date", "x-amz-target"]));
    const signer = new AwsV4Signer({
      method,
      url: `${server.url}${path}`,
      headers: Object.fromEntries(names.map((name) => [name, String(headers[name])])),
      body: text,
      ...credentials,
      service: "dynamodb",
      region: account.region,
      datetime: String(headers["x-amz-date"]),
      allHeaders: true,
    });
    expect((await signer.sign()).headers.get("authorization")).toBe(authorization);
  });

  it("has the credentials and the region of its time, which may have been renewed", async () => {
    let renewals = 0;
    const renewed = async () => ({ ...credentials, accessKeyId: `AKID${++renewals}` });
    const client = create({ region: async () => "eu-west-3", credentials: renewed });
    await client.send("GetItem", get);
    await client.send("GetItem", get);
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual([
      expect.stringMatching(/Credential=AKID1\/\d+\/eu-west-3\/dynamodb\//),
      expect.stringMatching(/Credential=AKID2\/\d+\/eu-west-3\/dynamodb\//),
    ]);
  });

  it("carries bytes in base64, and so do the answers of every action", async () => {
    const item = { ...key, row: { B: Uint8Array.of(0, 255, 7) } };
    const wire = { ...key, row: { B: "AP8H" } };
    const client = create();
    await client.send("PutItem", { TableName: "ledger", Item: item });
    expect(JSON.parse(server.received[0]?.text ?? "")).toEqual({ TableName: "ledger", Item: wire });
    answer = answerJson(200, {
      Item: wire,
      Attributes: wire,
      Items: [wire, wire],
      Responses: { ledger: [wire] },
    });
    const answered = await client.send("GetItem", get);
    const read = { ...key, row: { B: Buffer.of(0, 255, 7) } };
    expect(answered).toEqual({
      output: {
        Item: read,
        Attributes: read,
        Items: [read, read],
        Responses: { ledger: [read] },
      },
      date,
    });
  });

  it("goes to the service's own address, unless the environment names another", async () => {
    const address = async (region: string) =>
      (await addressOf("dynamodb", undefined, { ...account, region })).href;
    expect(await address("eu-central-1")).toBe("https://dynamodb.eu-central-1.amazonaws.com/");
    expect(await address("cn-north-1")).toBe("https://dynamodb.cn-north-1.amazonaws.com.cn/");
    expect(endpointIn({}, "DYNAMODB")).toBeUndefined();
    const all = { AWS_ENDPOINT_URL: "http://all" };
    expect(endpointIn(all, "DYNAMODB")).toBe("http://all");
    expect(endpointIn({ ...all, AWS_ENDPOINT_URL_DYNAMODB: "http://one" }, "DYNAMODB")).toBe(
      "http://one",
    );
  });
});

describe("a request that DynamoDB does not answer well", () => {
  const namespace = "com.amazonaws.dynamodb.v20120810";
  const refusals: [number, string][] = [
    [400, `${namespace}#ConditionalCheckFailedException`],
    [400, `${namespace}#ProvisionedThroughputExceededException`],
    [400, `${namespace}#RequestLimitExceeded`],
    [400, `${namespace}#ItemCollectionSizeLimitExceededException`],
    [400, `${namespace}#ResourceNotFoundException`],
    [400, "com.amazon.coral.service#ThrottlingException"],
    [400, "com.amazon.coral.service#UnrecognizedClientException"],
    [400, "com.amazon.coral.service#ExpiredTokenException"],
    [400, "com.amazon.coral.validate#ValidationException"],
    [400, "AccessDeniedException"],
    [429, "TooManyRequestsException"],
    [500, `${namespace}#InternalServerError`],
    [501, "NotImplemented"],
    [503, "com.amazon.coral.availability#ServiceUnavailable"],
    [504, "GatewayTimeout"],
  ];

  it.each(refusals)(
    "is repeated and named as the SDK's client does: %d %s",
    async (status, code) => {
      answer = answerJson(status, { __type: code, message: "why" });
      const command = new PutItemCommand({ TableName: "ledger", Item: key });
      const sdk = new DynamoDBClient({ ...account, endpoint: server.url });
      const theirs: unknown = await sdk.send(command).catch((error: unknown) => error);
      const attempts = server.received.splice(0).length;
      const ours: unknown = await create()
        .send("PutItem", { TableName: "ledger", Item: key })
        .catch((error: unknown) => error);
      expect(server.received).toHaveLength(attempts);
      const told = ({ name, message }: Error) => ({ name, message });
      expect(told(Object(ours))).toEqual(told(Object(theirs)));
      expect(told(Object(ours))).toEqual({ name: code.replace(/.*#/, ""), message: "why" });
      sdk.destroy();
    },
  );

  it("is repeated where the answer is of something in between, or the connection ends", async () => {
    answer = (_, response) => {
      const { length } = server.received;
      if (length === 1) response.writeHead(503).end("<html>");
      else if (length === 2) response.destroy();
      else answerJson(200, { Item: key })(_, response);
    };
    expect((await create().send("GetItem", get)).output.Item).toEqual(key);
    answer = (_, response) => response.writeHead(502).end("<html>");
    await expect(create().send("GetItem", get)).rejects.toMatchObject({
      name: "HTTP 502",
      $fault: "server",
    });
    expect(server.received).toHaveLength(7);
  });

  it("is repeated where half of an answer came, and read whole", async () => {
    answer = (_, response) => {
      if (server.received.length > 1) return answerJson(200, { Item: key })(_, response);
      response.writeHead(200, { "content-length": "100" });
      response.write('{"Item":', () => response.destroy());
    };
    expect((await create().send("GetItem", get)).output.Item).toEqual(key);
  });

  it("waits four seconds for each of four answers", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const until = async (isSo: () => boolean) => {
      while (!isSo()) await new Promise(setImmediate);
    };
    answer = () => undefined;
    const refused = expect(create().send("GetItem", get)).rejects.toMatchObject({
      name: "TimeoutError",
    });
    for (const asked of [1, 2, 3, 4]) {
      await until(() => server.received.length === asked);
      await vi.advanceTimersByTimeAsync(3_999);
      expect(server.received).toHaveLength(asked);
      await vi.advanceTimersByTimeAsync(1);
      if (asked === 4) break;
      await until(() => vi.getTimerCount() === 1);
      await vi.advanceTimersByTimeAsync(1); // the wait before a retry
    }
    await refused;
  });
});
