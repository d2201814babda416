import { batchCallsMax } from "#shared/calls/call-request.ts";
import { manyZonesSchema } from "./many-zones.ts";
import * as z from "#shared/lib/zod.ts";
import { anyName, instant, time } from "#functions/api/http/fields.ts";

/** Maximum errors of calls that an answer lists. */
export const itemErrorsMax = 10_000;
/** Maximum reasons that an answer counts; the rarest are left out. */
export const reasonsMax = 100;

/** The possible ends of a posted call in a forecast, each of which has exactly one. */
const outcomes = ["refused", "rejected", "expire", "blocked", "wait", "now"] as const;
const outcomeSchema = z
  .enum(outcomes)
  .check(
    z.describe(
      "`refused`: answered 422; `rejected`: accepted, and never dialed, as on the do-not-call list; `expire`: no permit within its lifetime; `blocked`: waits for an operator or a provider, at a time that nobody can tell; `wait`: dialed later; `now`: dialed within seconds of its acceptance",
    ),
  );
export type Outcome = z.infer<typeof outcomeSchema>;

const limitSchema = z
  .string()
  .check(
    z.describe(
      "What delays calls, as the reason of a row: `slow`, where the account was seen to take calls more slowly than its pace; `paused`, by a pause that ends by itself",
    ),
  );

/** The body of a forecast. */
export const forecastRequestSchema = z.strictObject({
  client: anyName.check(z.describe("The client whose token posts the calls")),
  calls: z
    .array(z.unknown(), { error: "must be an array of calls" })
    .check(
      z.minLength(1, "must have at least one call"),
      z.maxLength(batchCallsMax, `must have at most ${batchCallsMax} calls`),
      z.describe("The calls as for `POST /v1/calls/batch`. A wrong one is counted as refused"),
    ),
  at: z.optional(instant).check(z.describe("When the calls are posted; now, if absent")),
  plan: z
    .optional(z.unknown())
    .check(
      z.describe("A dial plan that is not deployed; the answer then has both plans' forecasts"),
    ),
  items: z
    .optional(z.enum(["problems", "all"]))
    .check(
      z.describe("`all` calls one by one, or those that are refused, rejected, expired or blocked"),
    ),
});

const accountSchema = z.strictObject({
  account: z
    .nullable(z.string())
    .check(z.describe("Null: calls that wait already, of agents without a route in the plan")),
  calls: z.int().check(z.describe("How many of the calls it dials")),
  first_at: z.nullable(time),
  last_at: z.nullable(time),
  limit: z
    .nullable(limitSchema)
    .check(z.describe("What delays the last of them longest; null where nothing does")),
  rule: z
    .nullable(z.string())
    .check(z.describe("The rule of that limit, as in `rules`; null where there is none")),
  calls_per_second: z.nullable(z.number()).check(z.describe("Its pace; null: none")),
  seen_calls_per_second: z
    .nullable(z.number())
    .check(
      z.describe(
        "The calls a second that it was seen to take, where these are fewer than its pace or it has none; null otherwise",
      ),
    ),
  waiting: z
    .strictObject({
      calls: z.int().check(z.describe("How many calls wait in its backlogs already")),
      last_at: z.nullable(time).check(z.describe("When the last of them is dialed")),
      expire: z.int().check(z.describe("How many of them get no permit within their lifetime")),
      blocked: z.int().check(z.describe("How many of them wait for an operator or a provider")),
      is_whole: z.boolean().check(z.describe("False where more wait than are read")),
    })
    .check(z.describe("The calls that wait today; they share the account with those asked about")),
});
export type AccountForecast = z.infer<typeof accountSchema>;

const ruleSchema = z.strictObject({
  limit: limitSchema,
  rule: z
    .string()
    .check(
      z.describe(
        "The path of its entry in the plan, such as `countries.CA`; of a limit of an account, the account; of a pause, its name",
      ),
    ),
  calls: z.int().check(z.describe("How many calls it delays")),
  seconds: z.int().check(z.describe("How long it delays them, added up")),
  seconds_max: z.int().check(z.describe("How long it delays one of them at most")),
});
export type RuleForecast = z.infer<typeof ruleSchema>;

const summaryFields = {
  counts: z
    .strictObject({
      refused: z.int(),
      rejected: z.int(),
      expire: z.int(),
      blocked: z.int(),
      wait: z.int(),
      now: z.int(),
    })
    .check(z.describe("Calls by outcome; they add up to all calls")),
  first_at: z.nullable(time).check(z.describe("When the first of the calls is dialed")),
  last_at: z.nullable(time).check(z.describe("When the last of them is dialed")),
  reasons: z
    .array(z.strictObject({ outcome: outcomeSchema, reason: z.string(), calls: z.int() }))
    .check(
      z.describe(
        "Why calls are refused, rejected, expire or are blocked: a reason of a row, or a field and its error; the most frequent first",
      ),
    ),
  accounts: z.array(accountSchema),
  rules: z.array(ruleSchema).check(z.describe("What delays calls, the longest delay first")),
  hours: z
    .array(z.strictObject({ hour: time, account: z.string(), calls: z.int() }))
    .check(
      z.describe(
        "How many of the calls are dialed in each hour of UTC, by account; none where absent",
      ),
    ),
  unread: z
    .int()
    .check(
      z.describe(
        "How many calls were not compared with the do-not-call list and the caps, as the time did not suffice or the ledger failed; all were, where it is 0",
      ),
    ),
  unread_from: z
    .nullable(z.int())
    .check(z.describe("The index of the first of these calls; null where there is none")),
  later_tries: z
    .optional(z.int())
    .check(
      z.describe(
        "Of agents with `retry`: tries that may follow the calls, at most. The forecast has first calls, and tries that wait already",
      ),
    ),
};

const itemSchema = z.strictObject({
  index: z.int().check(z.describe("The call's index in `calls`, from 0")),
  outcome: outcomeSchema,
  at: z.optional(time).check(z.describe("When it is dialed")),
  account: z.optional(z.string()),
  reason: z
    .optional(z.string())
    .check(z.describe("Why it is rejected, expires, is blocked, or waits")),
  errors: z
    .optional(z.array(z.strictObject({ pointer: z.string(), detail: z.string() })))
    .check(z.describe("As in the 422 of `POST /v1/calls/batch`; 10,000 in the whole answer")),
  is_unread: z
    .optional(z.literal(true))
    .check(z.describe("Its number's earlier calls were not read")),
});
export type ForecastItem = z.infer<typeof itemSchema>;

const summarySchema = z
  .strictObject(summaryFields)
  .check(
    z.meta({ id: "ForecastSummary", description: "The outcome of the calls under one plan." }),
  );
export type ForecastSummary = z.infer<typeof summarySchema>;

/** The answer to a forecast. */
export const forecastSchema = z
  .strictObject({
    at: time.check(z.describe("When the calls are posted")),
    calls: z.int(),
    many_zones: manyZonesSchema,
    ...summaryFields,
    deployed: z
      .optional(summarySchema)
      .check(z.describe("The same calls under the deployed plan, where another plan was sent")),
    items: z.optional(z.array(itemSchema)).check(z.describe("In the order of the calls")),
  })
  .check(z.meta({ id: "Forecast", description: "When calls would be dialed, or why not." }));
export type Forecast = z.infer<typeof forecastSchema>;
