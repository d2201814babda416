type Filter = Readonly<Record<string, string>>;

/** Fields of the list's filter, and their names for people. */
const names: Filter = {
  state: "state",
  client: "client",
  campaign: "campaign",
  agent_id: "agent",
  account: "account",
  reason: "reason",
  request_id: "request",
  provider_call_id: "provider's call id",
  from: "from",
  until: "until",
};

/**
 * Returns the calls that a list shows, as a filter for actions and in words. No field may be left out: the action would
 * change calls that the list does not show. The API refuses fields that it does not know.
 */
export function chosenBy(filter: Filter): { fields: Filter; what: string } {
  const filled = Object.entries(filter).filter(([, value]) => value !== "");
  const words = filled.map(([name, value]) => `${names[name] ?? name} ${value}`);
  return { fields: Object.fromEntries(filled), what: `calls with ${words.join(", ")}` };
}

/** All waiting calls of a request, or of an agent whoever the client is: one order cancels them. */
export type WholeOrder = { request_id: string } | { agent_id: string };

/** Returns the order that cancels the calls that a list shows. Undefined: it shows other calls, or only some of these. */
export function findWholeOrder(filter: Filter, number: string): WholeOrder | undefined {
  const { state, ...others } = chosenBy(filter).fields;
  const [[name, value] = [], ...more] = Object.entries(others);
  if (state !== "WAITING" || number !== "" || value === undefined || more.length > 0) {
    return undefined;
  }
  if (name === "request_id") return { request_id: value };
  return name === "agent_id" ? { agent_id: value } : undefined;
}
