import type { Campaigns, Needs, Requests, RequestView } from "#shared/answers/answers.ts";
import { statesWhere } from "#shared/calls/states.ts";
import { Misuse } from "./failures.ts";
import type { Client } from "./client.ts";
import type { Json } from "./json.ts";
import { numberOf, type Values } from "./options.ts";

/** Rows for a table, and for --json the answer's own items, each with an `id`. */
export interface List {
  columns: string[];
  rows: Json[];
  items: Json[];
}

const openStates = statesWhere(({ open }) => open);
const requestColumns = [
  "id",
  "client",
  "campaign",
  "ended",
  "total",
  "expected_end_at",
  "accepted_at",
  "agents",
];

/** Lists requests, newest first, page after page. */
export async function listRequests(values: Values, ask: Client): Promise<List> {
  const limit = numberOf(values.limit ?? "20", "--limit");
  const filter = filterOf({
    client: values.client,
    campaign: values.campaign,
    agent_id: values.agent,
    calls_min: values["calls-min"],
  });
  const found: RequestView[] = [];
  let cursor: string | undefined;
  do {
    const size = Math.min(50, limit - found.length);
    const query = new URLSearchParams({
      ...filter,
      limit: String(size),
      ...(cursor && { cursor }),
    });
    const page = await ask<Requests>(`/requests?${query.toString()}`);
    found.push(...page.requests);
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < limit);
  return { columns: requestColumns, rows: found.map(requestRow), items: found };
}

function requestRow({ counted, queued, by_state, agents, ...request }: RequestView): Json {
  const open = openStates.reduce((sum, state) => sum + (by_state[state] ?? 0), queued);
  // Counts of a large request are of some of its calls.
  const share = (counted - open) / counted;
  return { ...request, ended: `${Math.floor(share * 100)} %`, agents: agents.join(", ") };
}

const needColumns = ["what", "calls", "since", "means", "fix"];
const campaignColumns = [
  "name",
  "client",
  "requests",
  "accepted",
  "placed",
  "first_accepted_at",
  "last_at",
];

/** Lists campaigns, the latest first. */
export async function listCampaigns(values: Values, ask: Client): Promise<List> {
  const limit = numberOf(values.limit ?? "50", "--limit");
  const query = new URLSearchParams(filterOf({ client: values.client }));
  const { campaigns } = await ask<Campaigns>(`/campaigns?${query.toString()}`);
  const items = campaigns
    .slice(0, limit)
    .map((one) => ({ id: JSON.stringify([one.client, one.name]), ...one }));
  return { columns: campaignColumns, rows: items, items };
}

/** Lists what needs a person. Unreadable parts are items too, so that nobody assumes that they are well. */
async function listNeeds(ask: Client): Promise<List> {
  const { needs, unread } = await ask<Needs>("/needs");
  const rows = needs.map(({ calls, calls_max, ...need }) => ({
    ...need,
    calls: calls !== null && calls === calls_max ? `${calls} or more` : calls,
  }));
  const missing = unread.map((part) => ({ id: `unread ${part}`, what: `${part}: not read` }));
  return { columns: needColumns, rows: [...rows, ...missing], items: [...needs, ...missing] };
}

/** Returns the list of a name: requests, campaigns or needs. */
export function listNamed(name: string, values: Values, ask: Client): Promise<List> {
  switch (name) {
    case "requests":
      return listRequests(values, ask);
    case "campaigns":
      return listCampaigns(values, ask);
    case "needs":
      return listNeeds(ask);
    default:
      throw new Misuse(`${name} cannot be watched: requests, campaigns and needs can.`);
  }
}

function filterOf(given: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
