import { isTestClient } from "./ids.ts";

/** Kinds of lanes. Every row with a due time is in one lane, where its ledger finds it. */
const laneKinds = ["waiting", "dialing", "watch", "results", "analyses"] as const;

/**
 * - `waiting`: calls that wait for their turn. Key: that of their backlog, by client, agent and level.
 * - `dialing`: calls under way. Key: account, client and agent.
 * - `watch`: calls whose outcome is unknown, which sweeps go through. All have one key, which is empty.
 * - `results`: placed calls whose results are polled. Key: account.
 * - `analyses`: ended calls whose records are read for the provider's analysis. Key: account.
 */
export type LaneKind = (typeof laneKinds)[number];

/** A lane: what its rows are due for, and whose they are. */
export interface Lane {
  kind: LaneKind;
  key: string;
}

/** Names a lane. The name of waiting calls is their key alone, as most rows of an index have it. */
function laneName({ kind, key }: Lane): string {
  if (kind === "waiting") return key;
  return kind === "watch" ? kind : `${kind}:${key}`;
}

/** Parses a name that `laneName` made. Keys of waiting calls are JSON. */
export function parseLane(name: string): Lane {
  const end = name.indexOf(":");
  const kind = laneKinds.find((one) => one === (end < 0 ? name : name.slice(0, end)));
  if (kind === undefined) return { kind: "waiting", key: name };
  return { kind, key: end < 0 ? "" : name.slice(end + 1) };
}

export const watchLane = /* @__PURE__ */ laneName({ kind: "watch", key: "" });

/** Beginning of the names of all lanes of calls under way. */
export const dialingPrefix = /* @__PURE__ */ laneName({ kind: "dialing", key: "" });

/** The account, client and agent for which a call under way counts. */
export interface DialingOf {
  account: string;
  client: string;
  agentId: string;
}

/** Names the lane in which a call under way is counted. */
export function dialingLane({ account, client, agentId }: DialingOf): string {
  return laneName({ kind: "dialing", key: JSON.stringify([account, client, agentId]) });
}

/** Returns for whom the calls of a lane of calls under way count. */
export function dialingIn(name: string): DialingOf {
  const [account = "", client = "", agentId = ""]: string[] = JSON.parse(parseLane(name).key);
  return { account, client, agentId };
}

/** Stands for the accounts of all test clients, whose results are polled together: no plan lists them. */
export const testAccounts = "test:*";

/**
 * Names the lane of an account's placed calls whose results are polled. `account` is the account's name in the plan, or
 * one of test calls.
 */
export function resultsLane(of: { account: string }): string {
  return laneName({ kind: "results", key: polledOf(of) });
}

/** Names the lane of an account's ended calls whose records are read for the provider's analysis. */
export function analysesLane(of: { account: string }): string {
  return laneName({ kind: "analyses", key: polledOf(of) });
}

function polledOf({ account }: { account: string }): string {
  return isTestClient(account) ? testAccounts : account;
}
