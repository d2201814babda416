import { type aws_dynamodb as dynamodb, aws_iam as iam } from "aws-cdk-lib";
import { dynamoTable } from "#shared/aws/dynamodb-table.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { ClientRight } from "#shared/settings/tokens.ts";
import type { OutboundCallsProps } from "./props.ts";

/** Allows a role to read and write all of the ledger. */
export function allowLedger(role: iam.Role, table: Pick<dynamodb.ITableV2, "tableArn">): void {
  allowItems(role, table, {
    names: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem"],
  });
  const arns = Object.keys(dynamoTable.indexes).map((index) => `${table.tableArn}/index/${index}`);
  // Documents of a kind are listed by a query of the table itself.
  allow(role, ["Query"], { resources: [table.tableArn, ...arns] });
}

/** Allows the dispatcher's role to read what waits and to write it, but to delete nothing. */
export function allowDispatcherLedger(
  role: iam.Role,
  table: Pick<dynamodb.ITableV2, "tableArn">,
): void {
  allowItems(role, table, { names: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem"] });
  allow(role, ["Query"], { resources: [table.tableArn, `${table.tableArn}/index/due`] });
}

/** Items that a right is about, as dynamodb-table.ts names their partitions, and what is done with them. */
const itemsOf: Record<ClientRight, { partitions: string[]; actions: string[] }> = {
  read: { partitions: ["call#*"], actions: ["BatchGetItem"] },
  // With a cancelled try the chain of a call ends that a split has given to its agent.
  cancel: {
    partitions: [
      "call#*",
      'doc#cancellation#["request",*',
      "doc#client-audit",
      "doc#usage",
      "doc#split-results#*",
    ],
    actions: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem"],
  },
  // An entry under the former HASH_KEY is removed a minute after the entry under the current one was added.
  opt_out: {
    partitions: [
      "doc#do-not-call#*",
      "doc#do-not-call-list#list",
      "doc#unlisted#*",
      "doc#client-audit",
    ],
    actions: ["GetItem", "BatchGetItem", "PutItem", "DeleteItem"],
  },
  events: {
    partitions: ["doc#receivers", "doc#deliveries#*", "doc#replay", "doc#client-audit"],
    actions: ["GetItem", "BatchGetItem", "PutItem"],
  },
};

/** Allows the API's role what its callers may ask of the ledger, and nothing else. */
export function allowApiLedger(
  role: iam.Role,
  table: Pick<dynamodb.ITableV2, "tableArn">,
  {
    operator = true,
    clientRights = [],
    plan,
  }: Pick<OutboundCallsProps, "operator" | "clientRights" | "plan">,
): void {
  if (operator) {
    allowLedger(role, table);
    return;
  }
  allowItems(role, table, {
    names: ["GetItem", "BatchGetItem", "PutItem"],
    partitions: ["doc#idempotency-key#*", "doc#sent-file#*"],
  });
  // The documents by which /readyz sees whether the dialer works, or a restore has stopped it.
  allowItems(role, table, {
    names: ["BatchGetItem"],
    partitions: ["doc#sweep", "doc#dispatcher#dispatcher", "doc#restore#ledger"],
  });
  // Writes of clients are counted, and those that call nobody are gathered above a number.
  const counted = clientRights.some((right) => right === "cancel" || right === "opt_out")
    ? ["doc#write-counts#*", "doc#gathered#*"]
    : ["doc#write-counts#*"];
  allowItems(role, table, { names: ["PutItem", "UpdateItem"], partitions: counted });
  if (plan?.guards !== undefined) allowGuards(role, table, plan.guards);
  for (const right of new Set(clientRights)) {
    const { partitions, actions } = itemsOf[right];
    allowItems(role, table, { names: actions, partitions });
  }
  // Clients read their usage, in which cancelled calls are counted.
  if (clientRights.includes("read") || clientRights.includes("cancel"))
    allowItems(role, table, { names: ["Query"], partitions: ["doc#usage"] });
  // A cancellation is an event for the client's own receivers.
  if (clientRights.includes("cancel"))
    allowItems(role, table, { names: ["BatchGetItem"], partitions: ["doc#receivers"] });
  // A request's calls are found by the index of all calls.
  if (clientRights.includes("read") || clientRights.includes("cancel"))
    allow(role, ["Query"], { resources: [`${table.tableArn}/index/week`] });
  // A client's requests are listed by the indexes of clients and of their campaigns.
  if (clientRights.includes("read"))
    allow(role, ["Query"], {
      resources: ["client", "clientCampaign"].map((name) => `${table.tableArn}/index/${name}`),
    });
}

/** Allows the API to count the calls of clients with guards, and those of their calls that wait. */
function allowGuards(
  role: iam.Role,
  table: Pick<dynamodb.ITableV2, "tableArn">,
  guards: NonNullable<DialPlan["guards"]>,
): void {
  // A write that others have overtaken is read once more (`writeVersioned`).
  allowItems(role, table, {
    names: ["GetItem", "BatchGetItem", "PutItem", "UpdateItem"],
    partitions: ["doc#day-counts#*"],
  });
  if (Object.values(guards).every(({ waiting }) => waiting === undefined)) return;
  allowItems(role, table, {
    names: ["GetItem", "BatchGetItem", "PutItem"],
    partitions: ["doc#client-waiting#*"],
  });
  allowItems(role, table, { names: ["Query"], partitions: ["doc#backlog"] });
  allow(role, ["Query"], { resources: [`${table.tableArn}/index/due`] });
}

/** @param allowed.partitions patterns of the partitions that are allowed; absent: all */
function allowItems(
  role: iam.Role,
  table: Pick<dynamodb.ITableV2, "tableArn">,
  { names, partitions }: { names: string[]; partitions?: string[] },
): void {
  const conditions = partitions && {
    "ForAllValues:StringLike": { "dynamodb:LeadingKeys": partitions },
  };
  allow(role, names, { resources: [table.tableArn], ...(conditions && { conditions }) });
}

function allow(
  role: iam.Role,
  names: string[],
  { resources, conditions = {} }: { resources: string[]; conditions?: Record<string, unknown> },
): void {
  const actions = names.map((name) => `dynamodb:${name}`);
  role.addToPolicy(new iam.PolicyStatement({ actions, resources, conditions }));
}
