import * as z from "zod";
import { callStates } from "../../../shared/calls/call-row.ts";
import { isE164 } from "../../../shared/numbering/phone-number.ts";
import { foreignCursor, opaqueCursorOf, opaqueCursorTo } from "./cursors.ts";

/** Most numbers that are put onto the do-not-call list, or taken from it, by one request. */
const numbersMax = 10_000;
/** Most items of one page. */
const pageItemsMax = 200;

const phoneNumber = z.string().refine(isE164, "must be an E.164 number such as +12025550123");
const instant = z.iso
  .datetime({ offset: true, error: "must be an instant such as 2026-11-21T09:00:00Z" })
  .transform((text) => Date.parse(text));
const limit = z.coerce.number().int().min(1).max(pageItemsMax).default(50);
const name = z.string().min(1).max(300);
/** The `X-Request-Id` of a 201. */
const requestId = z
  .string()
  .regex(/^[0-9A-HJKMNP-TV-Z]{26}$/, "must be a request's id, such as 01KAJ6Y5G0QZ3N4T7V8W9XABCD");
/** Where a list of calls goes on: the ledger's own `next`. */
const callCursor = z.string().regex(/^call_\w{1,60}$/, foreignCursor);

/** Whether an id in an address can be a call's: adapters take such ids apart. */
export function isCallId(id: string): boolean {
  return /^call_[0-9A-HJKMNP-TV-Z]{26}_\d{5}$/.test(id);
}

const filters = {
  state: z.enum(callStates).optional(),
  request_id: requestId.optional(),
  agent_id: name.optional(),
  provider: name.optional(),
  reason: name.optional(),
  /** Accepted in [from, until). */
  from: instant.optional(),
  until: instant.optional(),
  cursor: callCursor.optional(),
  limit,
};

/** Which calls are listed: those of a state, of a request, or all; and of them those that fit all the rest. */
export const listQuerySchema = z.strictObject(filters);

/** Calls to a number, which stands in no address, and of them those that fit all the rest. */
export const searchSchema = z.strictObject({ phone_number: phoneNumber, ...filters });

export const redialSchema = z.strictObject({
  /** Of a call that is NEEDS_REVIEW: the operator knows that it was not placed. */
  not_placed: z.boolean().optional(),
});

/** What a call that is NEEDS_REVIEW was found to be. */
export const resolveSchema = z.strictObject({ outcome: z.enum(["placed", "not_placed"]) });

/** `*` in a plan stands for every agent that it does not name, and is none itself. */
const agentId = name.refine(
  (text) => text !== "*",
  "must name one agent; an account may be paused instead",
);
const oneOf = (what: { [key: string]: unknown }) =>
  Object.values(what).filter(Boolean).length === 1;

const duePlaceSchema = z.strictObject({ dueAt: z.number(), id: z.string() });

/** Where a cancellation goes on: below a call of the request, or at a place of one of the agent's backlogs. */
const cancelPlaceSchema = z.union([
  z.strictObject({ before: callCursor }),
  z.strictObject({
    backlog: z.string(),
    after: duePlaceSchema.optional(),
  }),
]);
export type CancelPlace = z.infer<typeof cancelPlaceSchema>;

/** Where a cancellation goes on, as a cursor. */
export function cancelCursorOf(place: CancelPlace): string {
  return opaqueCursorOf(place);
}

/** Where the list of backlogs goes on: in a window of their documents, after a head. */
const backlogsPlaceSchema = z.strictObject({
  /** The document after which the window begins; absent: the first window. */
  from: z.string().optional(),
  after: duePlaceSchema.optional(),
});
export type BacklogsPlace = z.infer<typeof backlogsPlaceSchema>;

/** Where the list of backlogs goes on, as a cursor. */
export function backlogsCursorOf(place: BacklogsPlace): string {
  return opaqueCursorOf(place);
}

export const cancelSchema = z
  .strictObject({
    request_id: requestId.optional(),
    agent_id: agentId.optional(),
    cursor: opaqueCursorTo(cancelPlaceSchema).optional(),
  })
  .refine(({ request_id, agent_id }) => oneOf({ request_id, agent_id }), {
    error: "must have either request_id or agent_id",
  });

export const pauseSchema = z
  .strictObject({
    agent_id: agentId.optional(),
    /** Of the dial plan's providers. */
    account: name.optional(),
  })
  .refine(({ agent_id, account }) => oneOf({ agent_id, account }), {
    error: "must have either agent_id or account",
  });

export const resumeSchema = z
  .strictObject({
    agent_id: name.optional(),
    account: name.optional(),
    /** The key of a breaker that the service has opened by itself. */
    breaker: name.optional(),
  })
  .refine(({ agent_id, account, breaker }) => oneOf({ agent_id, account, breaker }), {
    error: "must have one of agent_id, account and breaker",
  });

export const backlogsQuerySchema = z.strictObject({
  cursor: opaqueCursorTo(backlogsPlaceSchema).optional(),
  limit,
});

export const countsQuerySchema = z.strictObject({
  /** So many hours up to now. */
  hours: z.coerce.number().int().min(1).max(168).default(24),
});

export const doNotCallSchema = z
  .strictObject({
    add: z.array(phoneNumber).max(numbersMax).default([]),
    remove: z.array(phoneNumber).max(numbersMax).default([]),
    /** The list was made under another HASH_KEY, and all of it is sent anew. */
    renew: z.boolean().default(false),
    /** More of the same list is to come: it is whole with the request that does not say so. */
    more: z.boolean().default(false),
  })
  .refine(({ add, renew }) => !renew || add.length > 0, {
    path: ["renew"],
    error: "is for a list that is sent anew: there is nothing to add",
  })
  .refine(({ add, remove }) => add.length + remove.length > 0, {
    error: "must have numbers to add or to remove",
  });

export const checkSchema = z.strictObject({ phone_number: phoneNumber });

export const auditQuerySchema = z.strictObject({
  /** The time and id of an entry, as they stand in its key. */
  cursor: z
    .string()
    .regex(/^\d{15}~\w{1,60}$/, foreignCursor)
    .optional(),
  limit,
});

const time = z.iso.datetime();

/** A call as it is shown: of the number its last two digits, of the context nothing. */
export const callViewSchema = z.strictObject({
  id: z.string(),
  state: z.enum(callStates),
  reason: z.string(),
  agent_id: z.string(),
  provider: z.string().nullable(),
  request_id: z.string(),
  client: z.string(),
  number_tail: z.string(),
  attempt: z.int(),
  due_at: time.nullable(),
  accepted_at: time,
  updated_at: time,
  provider_call_id: z.string().nullable(),
  redial_of: z.string().nullable(),
  redialed_as: z.string().nullable(),
  can_be_revealed: z.boolean(),
});

export const callStorySchema = z.strictObject({
  ...callViewSchema.shape,
  history: z.array(
    z.strictObject({
      at: time,
      state: z.enum(["ACCEPTED", ...callStates]),
      reason: z.string(),
      due_at: time.nullable(),
      by: z.string().nullable(),
    }),
  ),
});

export const revealedSchema = z.strictObject({
  phone_number: z.string(),
  context: z.record(z.string(), z.string()),
  timezone: z.string().nullable(),
});

export const redialedSchema = z.strictObject({ id: z.string(), redial_of: z.string() });

const pauseFields = {
  agent_id: z.string().optional(),
  account: z.string().optional(),
};
export const pauseViewSchema = z.strictObject({ ...pauseFields, at: time, by: z.string() });

/** What circuit breakers stand for. */
export const breakerKinds = ["account", "route", "agent"] as const;

/** An open circuit breaker. */
const breakerViewSchema = z.strictObject({
  key: z.string(),
  kind: z.enum(breakerKinds),
  /** The account or the agent; of a route a hash. */
  name: z.string(),
  code: z.string(),
  opened_at: time,
  probe_at: time,
  /** Requests of an account that stayed unanswered, or an agent's refusals by code; null where none are counted. */
  failures: z
    .union([
      z.strictObject({ unanswered: z.int(), in_row: z.int() }),
      z.strictObject({ refusals: z.record(z.string(), z.int()) }),
    ])
    .nullable(),
  /** Of a route: the agents of today's plan whose route it is; `*` stands for all that the plan does not name. */
  agents: z.array(z.string()).optional(),
});

export const pausesViewSchema = z.strictObject({
  /** What operators keep waiting. */
  pauses: z.array(pauseViewSchema),
  /** The service's own that are open. */
  breakers: z.array(breakerViewSchema),
  agents: z.array(z.string()),
  /** Whether there are agents that the plan does not name. */
  other_agents: z.boolean(),
  accounts: z.array(z.string()),
});

export const resumedSchema = z.strictObject({ ...pauseFields, breaker: z.string().optional() });

/** The waiting calls of one client and one agent. */
export const backlogViewSchema = z.strictObject({
  client: z.string(),
  agent_id: z.string(),
  /** Where today's plan sends them; null where it has no route for the agent. */
  account: z.string().nullable(),
  /** The call whose turn is first. */
  head: z.strictObject({ call_id: z.string(), due_at: time, accepted_at: time }),
  /** How many calls wait, counted up to `waiting_most`. */
  waiting: z.int(),
  /** Up to when calls of the account are called up; null where that is not ahead. */
  called_up_to: time.nullable(),
  /** `agent_paused`, `account_paused`, `route_gone`, and the keys of open circuit breakers. */
  held_by: z.array(z.string()),
});

export const backlogsViewSchema = z.strictObject({
  /** By when their heads are due, the earliest first. */
  backlogs: z.array(backlogViewSchema),
  waiting_most: z.int(),
  /** The earliest moment at which a waiting call is due or was; null where none waits. */
  oldest_due_at: time.nullable(),
  /** When the last full round of the sweep began; null before the first one. */
  swept_at: time.nullable(),
  cursor: z.string().optional(),
});

export const countsViewSchema = z.strictObject({
  /** Calls that came into a state in an hour. */
  counts: z.array(z.strictObject({ hour: time, state: z.enum(callStates), count: z.int() })),
  /** Calls that stand in a state now, counted up to `standing_most`. */
  standing: z.record(z.string(), z.int()),
  standing_most: z.int(),
  /** When the last full round of the sweep began; null before the first one. */
  swept_at: time.nullable(),
});

export const auditEntrySchema = z.strictObject({
  at: time,
  by: z.string(),
  act: z.string(),
  target: z.string(),
  count: z.int().nullable(),
});

export const doNotCallDoneSchema = z.strictObject({ added: z.int(), removed: z.int() });
