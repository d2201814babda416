/**
 * The ledger and its documents in one DynamoDB table, written by single-item conditional writes only.
 *
 * | Item | `pk` | `sk` |
 * |---|---|---|
 * | call | `call#<request>#<hundred of its index>`: a batch spreads over a hundred partitions | its id |
 * | document of a listed kind | `doc#<kind>` | its key |
 * | entry of the do-not-call list | `doc#do-not-call#<first digit of the hash>` | its key |
 * | any other document | `doc#<kind>#<key>` | its key |
 *
 * Every index is sparse and has keys only: an item costs a write unit more for each index that it enters or leaves, and
 * none for one in which its keys stay as they are. `ttl` (seconds) lets DynamoDB delete what is past its retention, at
 * no cost.
 */
export const dynamoTable = {
  hashKey: "pk",
  rangeKey: "sk",
  ttl: "ttl",
  indexes: {
    /** Calls that have a due time: `due` is the lane (`watch` spreads over 16 and calls under way over 4), `dueKey` the due time and the id, and of a call under way the names of its account and backlog. */
    due: { hashKey: "due", rangeKey: "dueKey" },
    /**
     * Calls with pending or exhausted events: `deliver` is the list, `deliverKey` the time and the id. Empty without
     * receivers.
     */
    events: { hashKey: "deliver", rangeKey: "deliverKey" },
    /** Calls with pending events of clients' own receivers: `clientReceiver` is the list, `clientReceiverKey` the time and the id. */
    clientReceiverEvents: { hashKey: "clientReceiver", rangeKey: "clientReceiverKey" },
    /** All calls to a number. */
    number: { hashKey: "numberHash", rangeKey: "sk" },
    /** Calls in the states that operators look after: state and shard. */
    attention: { hashKey: "attention", rangeKey: "sk" },
    /**
     * All calls by the week in their ids: week and shard. A list walks down past weeks without any call. Also serves to
     * find a request's calls, whose ids share a prefix.
     */
    week: { hashKey: "week", rangeKey: "sk" },
    /**
     * The requests of a client, of a client's campaign, of a campaign, and those with calls of an agent, each by the one
     * call that stands for it: name and shard. The keys never change.
     */
    client: { hashKey: "client", rangeKey: "sk" },
    clientCampaign: { hashKey: "clientCampaign", rangeKey: "sk" },
    campaign: { hashKey: "campaign", rangeKey: "sk" },
    agent: { hashKey: "agentId", rangeKey: "sk" },
  },
} as const;

/** Returns the type of a key: text, except the hash of a number, whose bytes are half of its digits. */
export const keyTypeOf = (name: string) => (name === "numberHash" ? "B" : "S");

export type IndexName = keyof typeof dynamoTable.indexes;
