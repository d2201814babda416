import * as z from "zod";
import { callStates } from "../../shared/ledger/call-ledger.ts";
import { isE164 } from "../../shared/phone-number.ts";

/** Most numbers that are put onto the do-not-call list, or taken from it, by one request. */
const numbersMax = 10_000;
/** Most calls of one page. */
const pageCallsMax = 200;

const phoneNumber = z.string().refine(isE164, "must be an E.164 number such as +12025550123");
const instant = z.iso
  .datetime({ offset: true, error: "must be an instant such as 2026-11-21T09:00:00Z" })
  .transform((text) => Date.parse(text));
const limit = z.coerce.number().int().min(1).max(pageCallsMax).default(50);
const name = z.string().min(1).max(300);

/** A place to go on from, as an earlier answer gave it. */
const cursor = z
  .string()
  .transform((text, { addIssue }) => {
    const [, time, id] = /^(\d{1,15})~(\w{1,100})$/.exec(text) ?? [];
    if (time === undefined || id === undefined) addIssue("must be a cursor of an earlier answer");
    return { time: Number(time), id: id ?? "" };
  })
  .optional();

const filters = {
  state: z.enum(callStates).optional(),
  request_id: name.optional(),
  agent_id: name.optional(),
  provider: name.optional(),
  reason: name.optional(),
  /** Accepted in [from, until). */
  from: instant.optional(),
  until: instant.optional(),
  cursor,
  limit,
};

/** Which calls are listed: those of a state or of a request, and of them those that fit all the rest. */
export const listQuerySchema = z
  .strictObject(filters)
  .refine(({ state, request_id }) => state !== undefined || request_id !== undefined, {
    path: ["state"],
    error: "is required, unless request_id is sent",
  });

/** Calls to a number, which stands in no address, and of them those that fit all the rest. */
export const searchSchema = z.strictObject({ phone_number: phoneNumber, ...filters });

export const redialSchema = z.strictObject({
  /** Of a PARKED call: the operator knows that it was not placed. */
  not_placed: z.boolean().optional(),
});

/** What a PARKED call was found to be. */
export const resolveSchema = z.strictObject({ outcome: z.enum(["placed", "not_placed"]) });

/** `*` in a plan stands for every agent that it does not name, and is none itself. */
const agentId = name.refine(
  (text) => text !== "*",
  "must name one agent; an account may be held instead",
);
const oneOf = (what: { [key: string]: unknown }) =>
  Object.values(what).filter(Boolean).length === 1;

export const cancelSchema = z
  .strictObject({ request_id: name.optional(), agent_id: agentId.optional(), cursor })
  .refine(({ request_id, agent_id }) => oneOf({ request_id, agent_id }), {
    error: "must have either request_id or agent_id",
  });

export const holdSchema = z
  .strictObject({
    agent_id: agentId.optional(),
    /** Of the dial plan's providers. */
    account: name.optional(),
  })
  .refine(({ agent_id, account }) => oneOf({ agent_id, account }), {
    error: "must have either agent_id or account",
  });

export const releaseSchema = z
  .strictObject({
    agent_id: name.optional(),
    account: name.optional(),
    /** The name of a hold that the service has put on by itself. */
    hold: name.optional(),
  })
  .refine(({ agent_id, account, hold }) => oneOf({ agent_id, account, hold }), {
    error: "must have one of agent_id, account and hold",
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

export const actsQuerySchema = z.strictObject({ cursor, limit });

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
