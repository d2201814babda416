import type { Labels } from "./labels.ts";
import * as z from "../lib/zod.ts";
import { type AccountName, type Mode, toAccountName } from "./ids.ts";
import type { ProviderType } from "./provider-types.ts";
import { isE164 } from "../telephony/phone-number.ts";
import { toCanonical } from "../telephony/renumbered.ts";
import { timeZoneProblem } from "../telephony/time-zone.ts";
import type { Tries } from "./tries.ts";

const contextEntriesMax = 100;
/** Bytes of the JSON. */
const contextBytesMax = 32 * 1024;
/** Maximum errors that one answer lists. */
export const errorsMax = 100;
export const batchCallsMax = 10_000;

const agentIdCharactersMax = 128;
const agentIdPattern = new RegExp(`^[^\\p{C}\\p{Zl}\\p{Zp}]{1,${agentIdCharactersMax}}$`, "u");
/** The last name that was right: calls of a batch share it, and the pattern of all scripts takes time. */
let lastAgentId = "agent";
function isAgentId(text: string): boolean {
  if (text === lastAgentId) return true;
  if (!agentIdPattern.test(text)) return false;
  lastAgentId = text;
  return true;
}

const required = (expected: string) => (issue: { input?: unknown }) =>
  issue.input === undefined ? "is required" : `must be ${expected}`;

const wellFormedString = z
  .string({ error: "must be a string" })
  .check(z.refine((text) => text.isWellFormed(), "must not contain an unpaired surrogate"));

/**
 * Checks `context` before zod's record does. The record silently omits an own key `__proto__`, but a context
 * either arrives whole or is refused.
 */
const context = z.pipe(
  z.unknown().check(
    z.superRefine((value, { addIssue }) => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return; // the record reports this
      const keys = Object.keys(value);
      if (keys.includes("__proto__")) addIssue("must not have the key __proto__");
      if (!keys.every((key) => key.isWellFormed())) {
        addIssue("must not have a key with an unpaired surrogate");
      }
      if (keys.length > contextEntriesMax) {
        addIssue(`must have at most ${contextEntriesMax} entries`);
      } else if (
        // JSON.stringify would overflow the stack on a value nested thousands deep, so only a flat one is measured.
        Object.values(value).every((entry) => typeof entry === "string") &&
        Buffer.byteLength(JSON.stringify(value)) > contextBytesMax
      ) {
        addIssue(`must be at most ${contextBytesMax} bytes as JSON`);
      }
    }),
  ),
  z.record(z.string(), wellFormedString, { error: "must be an object of strings" }),
);

/**
 * One call as a client posts it: the body of `POST /v1/calls`, and the one definition of its fields. Field names are
 * those of the API. The schema is strict: a typo such as `time_zone`, silently dropped, would ring someone at night.
 */
export const callRequestSchema = z
  .strictObject(
    {
      phone_number: z.string({ error: required("a string") }).check(
        z.refine(isE164, "must be an E.164 number such as +12025550123"),
        z.meta({
          description: "E.164, at a destination that the dial plan permits",
          pattern: "^\\+[1-9]\\d{6,14}$",
          examples: ["+12025550123"],
        }),
      ),
      agent_id: z.string({ error: required("a string") }).check(
        z.refine(isAgentId, `must be 1 to ${agentIdCharactersMax} printable characters`),
        z.meta({
          description: "An agent of the dial plan, and of the token",
          minLength: 1,
          maxLength: agentIdCharactersMax,
          examples: ["agent_sales"],
        }),
      ),
      context: z.optional(
        context.check(
          z.meta({
            description: `What the agent receives: at most ${contextEntriesMax} strings by name, 32 KiB as JSON, as far as the provider can carry it`,
            maxProperties: contextEntriesMax,
            examples: [{ first_name: "Ada" }],
          }),
        ),
      ),
      timezone: z.optional(
        z.string({ error: "must be a string" }).check(
          z.superRefine((text, { addIssue }) => {
            const problem = timeZoneProblem(text);
            if (problem !== undefined) addIssue(problem);
          }),
          z.meta({
            description:
              "The callee's: an IANA name in any case, UTC, Z or an offset ±HH:MM. Calling hours are local time there. EST, MST and GMT are refused",
            examples: ["America/New_York"],
          }),
        ),
      ),
    },
    { error: "must be an object" },
  )
  .check(z.meta({ description: "One call to be made." }));

export type CallRequest = z.output<typeof callRequestSchema>;

/**
 * A call request on the queue and in the ledger: the fields of `callRequestSchema` and their types, without the rules,
 * which are checked once, at acceptance. A rule tightened by a later deployment must not make an accepted call
 * unreadable. Numbers are read in their present form, as the queue has the text that the client posted.
 */
export const storedCallRequestSchema = z.whenUsed(() =>
  z.strictObject({
    ...storedFields(),
    phone_number: z.pipe(z.string(), z.transform(toCanonical)),
  }),
);

function storedFields() {
  return Object.fromEntries(
    Object.entries(callRequestSchema.shape).map(([name, field]) => [name, typeOf(field)]),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- fields of the same names and types
  ) as typeof callRequestSchema.shape;
}

/**
 * Returns a field's type without its rules.
 *
 * @throws if a field has a type that this function does not know
 */
function typeOf(field: z.core.$ZodType): z.ZodMiniType {
  if (field instanceof z.ZodMiniOptional) return z.optional(typeOf(field.def.innerType));
  if (field instanceof z.ZodMiniPipe) return typeOf(field.def.out);
  if (field instanceof z.ZodMiniRecord) return z.record(z.string(), typeOf(field.def.valueType));
  if (field instanceof z.ZodMiniString) return z.string();
  throw new Error("a field of a call has a type that cannot be stored");
}

/** The body of `POST /v1/calls`, by the rules of `callRequestSchema`. */
export const singleSchema = z.transform(
  (value: unknown, { issues }) => readCall(value, [], issues) ?? z.NEVER,
);

/** The body of `POST /v1/calls/batch`: calls by the rules of `callRequestSchema`. */
export const batchSchema = z.transform((elements: unknown, { issues }) => {
  const refuse = (message: string) => issues.push({ code: "custom", message, input: undefined });
  const calls: CallRequest[] = [];
  if (!Array.isArray(elements)) refuse("must be an array of calls");
  else if (elements.length === 0) refuse("must have at least one call");
  else if (elements.length > batchCallsMax) {
    refuse(`must have at most ${batchCallsMax} calls`);
  } else {
    // Reading stops once the answer is full of errors: a few MiB can hold half a million wrong values.
    for (let index = 0; index < elements.length && issues.length < errorsMax; index++) {
      const call = readCall(elements[index], [index], issues);
      if (call !== undefined) calls.push(call);
    }
  }
  return calls;
});

/** Reads a call, or adds its errors to `issues` under `path`. */
function readCall(
  value: unknown,
  path: number[],
  issues: z.core.$ZodRawIssue[],
): CallRequest | undefined {
  if (isPlainCall(value)) return value;
  const { data, error } = callRequestSchema.safeParse(value);
  for (const issue of error?.issues ?? []) {
    issues.push({ ...issue, path: [...path, ...issue.path], input: undefined });
  }
  // Whatever is done with a call is done with the form of today's numbering plan.
  return data && { ...data, phone_number: toCanonical(data.phone_number) };
}

/** Names of the fields of a call. */
export const callFields = [
  "phone_number",
  "agent_id",
  "context",
  "timezone",
] as const satisfies (keyof CallRequest)[];

/**
 * True if `value`, parsed from JSON, certainly passes `callRequestSchema` unchanged. Nearly every call does,
 * and the schema takes several times as long. The schema judges all other values.
 */
export function isPlainCall(value: unknown): value is CallRequest {
  if (!isRecord(value)) return false;
  for (const field in value) if (!isPlainField(field, value[field])) return false;
  return value["phone_number"] !== undefined && value["agent_id"] !== undefined;
}

function isPlainField(field: string, value: unknown): boolean {
  if (field === "context") return isPlainContext(value);
  if (typeof value !== "string") return false;
  if (field === "phone_number") return isE164(value) && toCanonical(value) === value;
  if (field === "agent_id") return isAgentId(value);
  return field === "timezone" && timeZoneProblem(value) === undefined;
}

/** Maximum bytes of one UTF-16 unit in JSON, reached when it is escaped, as \u0000 is. */
const unitBytesMax = 6;

function isPlainContext(value: unknown): boolean {
  if (!isRecord(value)) return false;
  let entries = 0;
  let units = 0;
  for (const key in value) {
    const text = value[key];
    if (key === "__proto__" || typeof text !== "string") return false;
    if (!key.isWellFormed() || !text.isWellFormed()) return false;
    entries += 1;
    units += key.length + text.length + 6; // two pairs of quotes, a colon, a comma
  }
  return entries <= contextEntriesMax && units * unitBytesMax <= contextBytesMax;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A request's headers that concern its calls. Absent: not sent. */
export interface CallHeaders {
  /** `Call-Not-Before`, in milliseconds since the epoch. */
  notBefore?: number | undefined;
  /** `Call-Priority: urgent`. */
  urgent?: true | undefined;
  /** Present if there are any. */
  labels?: Labels | undefined;
}

/** The headers of a call's request, and what else is known of the call from its beginning and stays with its chain. */
export interface CallOrigin extends CallHeaders {
  /** The split that has chosen the call's agent, and its round (split-mark.ts). */
  split?: string | undefined;
  /** W3C `traceparent` of the request, as a plan with `traces` keeps it (shared/traces/trace-context.ts). */
  traceparent?: string | undefined;
}

/**
 * Says that a call is the first of its request, or the first of its agent in the request: its row stands for the request
 * in the ledger's lists. Most calls are neither.
 */
export type First = "request" | "agent";

/** An accepted call: the client's request and the data added at acceptance. */
export interface Call extends CallOrigin {
  /** Composed of the request's id and the call's index (ids.ts). It is sent to the provider with the call. */
  id: string;
  /** The `X-Request-Id` of the request that contained the call. */
  requestId: string;
  /** Number of calls of that request. Every row stores it, as a request has no lasting record of its own. */
  batchCalls: number;
  /** The `client` of the token that the call was posted with. */
  client: string;
  mode: Mode;
  /** Milliseconds since the epoch. */
  acceptedAt: number;
  request: CallRequest;
  first?: First | undefined;
  /** Ids of the calls that this redial replaces, the first one first. */
  ancestors?: string[] | undefined;
  /** Its place among the tries of an agent with `retry`. */
  tries?: Tries | undefined;
}

/**
 * Route of an agent's calls, as stored with each call. It also has the fields of its provider's schema
 * (shared/providers).
 */
export interface Route {
  /** Kind of the provider, such as `twilio`. */
  provider: ProviderType;
  /** Name of the account in the dial plan's `providers`. */
  account: AccountName;
  callingHours?: string | undefined;
  /** Names of the plan's checks that are asked before a call is dialed. */
  checks?: string[] | undefined;
  /** Address of the provider's API, if not the default. */
  baseUrl?: string | undefined;
  /** URL to which a webhook's calls are posted. */
  url?: string;
  /** Calling numbers of a plan's route with a pool. A row's route has none of them, but the chosen number as `from`. */
  callerIds?: readonly string[] | undefined;
  /** True if the provider drops a call whose id it has seen, so that a call of unknown outcome may be resent. */
  idempotent?: boolean | undefined;
}

/** Kind of the route of test calls (shared/providers/sandbox.ts). No dial plan may name it. */
export const sandboxType = "sandbox" satisfies ProviderType;

/**
 * Returns the route of a test client's calls in the place of an agent's own. Its account is the test client's alone, and
 * has the pace and the limits of the agent's account, whose name it ends with.
 *
 * @param own the agent's route. Undefined: the plan has none, or it is not known
 */
export function toSandboxRoute(
  client: string,
  own?: Pick<Route, "account" | "callingHours">,
): Route {
  const { account = "", callingHours } = own ?? {};
  const hours = callingHours === undefined ? {} : { callingHours };
  return { provider: sandboxType, account: toAccountName(`${client}:${account}`), ...hours };
}

/** Returns the name of the plan's account that a route's account stands for: of a real route, its own. */
export function planAccountOf({ account }: Pick<Route, "account">): AccountName {
  return toAccountName(account.slice(account.lastIndexOf(":") + 1));
}

/**
 * Names the account that a route's calls are placed under. Each host of a webhook is an account of its own: a host that
 * answers 401 says nothing about the others.
 */
export function accountNameOf({ account, url }: Pick<Route, "account" | "url">): string {
  return url === undefined ? account : `${account}:${new URL(url).origin}`;
}
