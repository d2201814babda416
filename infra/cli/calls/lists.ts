import type { Counts } from "../../../functions/api/operator/counts.ts";
import type { Pauses } from "../../../functions/api/operator/pauses.ts";
import type { RequestView } from "../../../functions/api/operator/request-progress.ts";
import type { Requests } from "../../../functions/api/operator/requests.ts";
import { statesWhere } from "../../../shared/calls/states.ts";
import { Misuse } from "./failures.ts";
import type { Client } from "./client.ts";
import type { Json } from "./json.ts";
import { numberOf, type Values } from "./options.ts";
import { nameOf, pausedText } from "./waiting-commands.ts";

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
  const { campaigns } = await ask<{ campaigns: Json[] }>(`/campaigns?${query.toString()}`);
  const items = campaigns
    .slice(0, limit)
    .map((one) => ({ id: JSON.stringify([one["client"], one["name"]]), ...one }));
  return { columns: campaignColumns, rows: items, items };
}

/** Lists what needs a person: calls to review, open circuit breakers and pauses. */
async function listNeeds(ask: Client): Promise<List> {
  const [counts, { pauses, breakers }] = await Promise.all([
    ask<Counts>("/counts?hours=1"),
    ask<Pauses>("/pauses"),
  ]);
  const review = counts.current.NEEDS_REVIEW ?? 0;
  const text = review === counts.current_max ? `${review} or more` : String(review);
  const items: Json[] = [
    ...(counts.suspended_since === null
      ? []
      : [
          {
            id: "restore",
            what: "the ledger was restored: nothing is dialed",
            since: counts.suspended_since,
          },
        ]),
    ...(review === 0 ? [] : [{ id: "review", what: `${text} calls need review`, since: null }]),
    ...breakers.map(({ key, code, opened_at }) => ({
      id: `breaker ${key}`,
      what: `answers ${code}`,
      since: opened_at,
    })),
    ...pauses.map((pause) => ({
      id: `pause ${nameOf(pause)}`,
      what: pausedText(pause),
      since: pause.at,
    })),
  ];
  return { columns: ["what", "since", "id"], rows: items, items };
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
