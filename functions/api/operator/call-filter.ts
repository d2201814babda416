import type { CallRow } from "../../../shared/calls/call-row.ts";
import { requestIdOf } from "../../../shared/calls/ids.ts";
import * as z from "../../../shared/lib/zod.ts";
import { anyName, instant, requestId, state } from "../http/fields.ts";

/** Fields of a filter of calls. */
export const filterShape = {
  state: z.optional(state),
  request_id: z.optional(requestId),
  client: z.optional(anyName),
  campaign: z.optional(anyName),
  agent_id: z.optional(anyName),
  provider: z.optional(anyName).check(z.describe("The account")),
  reason: z.optional(anyName),
  from: z.optional(instant).check(z.describe("Accepted then or later")),
  until: z.optional(instant).check(z.describe("Accepted earlier")),
};
const schema = z.strictObject(filterShape);
export type CallFilter = z.output<typeof schema>;

/** True if a row fits all fields of a filter but its state. */
export function fitsButState(row: CallRow, filter: CallFilter): boolean {
  const { request_id, client, campaign, agent_id, provider, reason } = filter;
  const { from = 0, until = Infinity } = filter;
  return (
    row.acceptedAt >= from &&
    row.acceptedAt < until &&
    (request_id === undefined || requestIdOf(row.id) === request_id) &&
    (client === undefined || row.client === client) &&
    (campaign === undefined || row.campaign === campaign) &&
    (agent_id === undefined || row.agentId === agent_id) &&
    (provider === undefined || row.route?.provider === provider) &&
    (reason === undefined || row.reason === reason)
  );
}
