import { expect, it } from "vitest";
import { createDynamoClient } from "#shared/aws/dynamodb-client.ts";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { randomId } from "#shared/lib/random.ts";
import type { ClientRight } from "#shared/settings/tokens.ts";
import { localCredentials, localRegion } from "#infra/local/aws-engines.ts";
import { describeCallbacks } from "../contracts/http-api/callbacks.ts";
import { describeGuardedClients } from "../contracts/http-api/guards.ts";
import { describeHttpApi } from "../contracts/http-api/index.ts";
import { describeReadiness } from "../contracts/http-api/readiness.ts";
import { describeRequestsApi } from "../contracts/requests-api/index.ts";
import { judgeOf } from "../support/aws/rights.ts";
import { useStacks } from "../support/aws-stacks.ts";
import { aDocument, anew } from "../support/documents.ts";
import { apiEnvironment } from "../support/environment.ts";
import { parseDialPlan } from "../support/plans.ts";
import { useLambda } from "./lambda-api.ts";
import { useRights } from "./use-rights.ts";

const { OPERATOR_TOKENS: _, ...environment } = apiEnvironment;
const plan = parseDialPlan(JSON.parse(apiEnvironment.DIAL_PLAN), {});
const { templateOf } = useStacks();
/** The API's rights in a stack without operators, whose clients have these. */
const rightsWith = (...clientRights: ClientRight[]) =>
  judgeOf(templateOf({ operator: false, clientRights, plan }), "api");
const none = rightsWith();
/** Rights of clients, each alone, by the paths that take them. */
const byPath: [path: RegExp, allowed: ReturnType<typeof judgeOf>][] = [
  [/\/cancel$/, rightsWith("cancel")],
  [/^\/v1\/do-not-call/, rightsWith("opt_out")],
  [/^\/v1\/receivers/, rightsWith("events")],
  [/^\/v1\/(requests|usage|calls\/(?!batch))/, rightsWith("read")],
];
const { before, rights } = useRights(none);
const behind = useLambda({
  before,
  environment,
  onRequest: (path) =>
    rights().judgeBy(
      byPath.find(([pattern]) => pattern.test(path.split("?")[0] ?? ""))?.[1] ?? none,
    ),
});
const createApi = behind("an HTTP API's default stage");
const name = "Lambda, with the rights of a stack without operators";

describeHttpApi(name, createApi, { hasOperator: false });
describeGuardedClients(name, createApi);
describeRequestsApi(name, createApi, { hasOperator: false });
describeCallbacks(name, createApi, { runs: 10 });
describeReadiness(name, createApi);

it("AWS lets a count of a client's waiting calls give way to another one of the same moment", async () => {
  rights().judgeBy(none);
  const account = { region: localRegion, credentials: localCredentials };
  const dynamo = createDynamoClient({ account, endpoint: rights().dynamoEndpoint });
  const own = { now: Date.now, freshVersion: randomId };
  const documents = createDynamoDocuments(dynamo, "ledger", own);
  const value = { waiting: 1, at: 1, calls: 1 };
  const count = aDocument("client-waiting", "two at once", value, Date.now() + 60_000);
  const other = { ...count, version: randomId() };
  expect(await documents.write(anew(count))).toEqual([true]);
  expect(await documents.write(anew(other))).toEqual([false]);
  const day = { kind: "day-counts", key: "two at once" } as const;
  expect(await documents.exchange(day, { removed: { refused: 1 }, added: {} })).toBeUndefined();
});

it("AWS refuses what no statement of the stack allows", async () => {
  rights().judgeBy(none);
  const account = { region: localRegion, credentials: localCredentials };
  const dynamo = createDynamoClient({ account, endpoint: rights().dynamoEndpoint });
  const Key = { pk: { S: "doc#audit" }, sk: { S: "x" } };
  await expect(dynamo.send("GetItem", { TableName: "ledger", Key })).rejects.toMatchObject({
    name: "AccessDeniedException",
  });
  expect(rights().refused.splice(0)).toHaveLength(1);
});
