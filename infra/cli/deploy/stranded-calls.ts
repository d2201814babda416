import type { DynamoClient } from "#shared/aws/dynamodb-client.ts";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { backlogOfKey } from "#shared/calls/call-row.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { randomVersion } from "#shared/lib/random.ts";
import * as z from "#shared/lib/zod.ts";
import { orSentence } from "./aws-cdk.ts";
import type { Target } from "./cloudflare-target.ts";
import { parseJson, wranglerUnless } from "./cloudflare-wrangler.ts";
import { DeployError, type Tools } from "./tools.ts";

/** The client and the agent of calls that wait. */
interface WaitingBacklog {
  client: string;
  agentId: string;
}

/** Maximum backlogs that are looked at. */
const backlogsMax = 5_000;

/** Query of the backlogs of a D1 ledger that have waiting calls. */
export const waitingQuery =
  "SELECT value->>'client' AS client, value->>'agentId' AS agentId FROM documents WHERE kind = 'backlog' " +
  `AND EXISTS (SELECT 1 FROM calls WHERE lane = documents.key) LIMIT ${backlogsMax}`;

const answerSchema = z.array(
  z.object({ results: z.array(z.object({ client: z.string(), agentId: z.string() })) }),
);

/** Reads which backlogs of a D1 ledger have waiting calls; none where there are no tables yet. */
export async function waitingOnCloudflare(
  tools: Tools,
  { database }: Target,
): Promise<WaitingBacklog[]> {
  const texts = ["d1", "execute", database, "--remote", "--json", "--command", waitingQuery];
  const said = await wranglerUnless(/no such table/, tools, texts);
  if (said === undefined) return [];
  const answer = parseJson(answerSchema, said);
  if (answer === undefined) throw new DeployError(`wrangler d1 execute said:\n${said}`);
  return answer.flatMap(({ results }) => results);
}

/** Reads which backlogs of a ledger in DynamoDB have waiting calls, or may have some. */
export async function waitingOnAws(dynamo: DynamoClient, table: string): Promise<WaitingBacklog[]> {
  return orSentence(async () => {
    const sources = { now: Date.now, freshVersion: randomVersion };
    const documents = createDynamoDocuments(dynamo, table, sources);
    const listed = await documents.list("backlog", { limit: backlogsMax });
    const ledger = createDynamoLedger(dynamo, table, { retentionMs: 0 });
    const lanes = listed.map(({ key }) => ({ key }));
    const query = { lanes, until: Number.MAX_SAFE_INTEGER, each: 1 };
    // Without the index, which this deployment may be about to make, any of them may have calls.
    const rows = await ledger.due(query).catch(undefinedWithoutIndex);
    const waiting = listed.filter((_, index) => rows === undefined || rows[index]?.length === 1);
    // A roll-back finds documents of a later version, whose values it may be unable to read.
    return waiting.map(({ key }) => backlogOfKey(key));
  });
}

/** DynamoDB refuses so also while it makes the index. @throws any other error */
function undefinedWithoutIndex(error: unknown): undefined {
  if (!(error instanceof Error) || error.name !== "ValidationException") throw error;
}

/**
 * Reports agents with waiting calls and without a route in the plan, before the calls are stranded: a person must
 * agree.
 *
 * @param options.strands true if the command is to leave them
 * @throws DeployError if nobody agrees
 */
export async function confirmStranded(
  { print, ask }: Pick<Tools, "print" | "ask">,
  plan: DialPlan,
  { waiting, strands }: { waiting: readonly WaitingBacklog[]; strands: boolean },
): Promise<void> {
  const lost = waiting.filter(({ agentId }) => findAgentRoute(agentId, plan) === undefined);
  if (lost.length === 0) return;
  const named = lost.map(({ client, agentId }) => `  ${agentId}, of the client ${client}`);
  print(
    `infra/dial-plan.json has no route for agents whose calls wait. These would no longer be dialed, and would expire:\n${named.join("\n")}`,
  );
  if (strands) return;
  const answer = await ask("Deploy nevertheless? yes or no");
  if (/^y(es)?$/i.test(answer ?? "")) return;
  throw new DeployError(
    "Nothing was deployed. Give these agents a route, cancel their calls (npm run calls -- cancel --agent AGENT), or run " +
      "this again with -- --strand.",
  );
}
