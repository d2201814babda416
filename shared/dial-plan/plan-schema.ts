import { costlyServices, hasNumbers } from "../telephony/phone-number.ts";
import * as z from "../lib/zod.ts";
import { parseClientReceiver } from "../ports/receiver-kinds.ts";
import { type Route, sandboxType } from "../calls/call-request.ts";
import { isPlannedType } from "../calls/provider-types.ts";
import { parseDay, weeklyHoursSchema } from "../telephony/calling-hours.ts";
import { frequencyCapSchema } from "../telephony/frequency-cap.ts";
import { presets } from "../telephony/hours-presets.ts";
import { toCanonicalPrefix } from "../telephony/canonical-prefix.ts";
import { allStates } from "../telephony/state-presets.ts";
import { isTimeZone } from "../telephony/time-zone.ts";
import { accountSchema, mustBeAccount, typesText } from "./account-schema.ts";
import { guardsSchema, realClient } from "./guards.ts";
import { checksSchema } from "./checks.ts";
import { receiverSchema, receiverSecret } from "./receivers.ts";
import { type CallBackRule, callBacksSchema, type RetryRule, retrySchema } from "./retry-rules.ts";
import { armsSchema, detectPointsSchema, type Split } from "./splits.ts";
import { stateProblems } from "./state-regions.ts";
import { dayMs } from "../lib/units.ts";

/** Hours of the week, written out or by name: `always`, a preset, or a set of the plan. */
const hoursSchema = z.pipe(
  z.unknown(),
  z.transform((hours, { issues }) => {
    if (typeof hours === "string") return hours;
    const { data, error } = weeklyHoursSchema.safeParse(hours);
    if (data !== undefined) return { weekly: data };
    if (typeof hours !== "object" || hours === null || Array.isArray(hours)) {
      const message = 'must be a name, or hours such as {"mon-fri": ["09:00-17:00"]}';
      issues.push({ code: "custom", message, input: undefined });
    } else issues.push(...error.issues.map((issue) => ({ ...issue, input: undefined })));
    return { weekly: [] };
  }),
);

/** Rules for all numbers of a country or region, in addition to those of the agent. */
const destinationRules = {
  callingHours: z.optional(hoursSchema),
  maxCalls: z.optional(frequencyCapSchema),
};
const saysSomething = ({
  callingHours,
  maxCalls,
}: {
  callingHours?: unknown;
  maxCalls?: unknown;
}) => callingHours !== undefined || maxCalls !== undefined;
const mustSaySomething = "must have callingHours, maxCalls or both";

const isDate = (text: string) =>
  /^\d{4}-\d\d-\d\d$/.test(text) && new Date(parseDay(text) * dayMs).toJSON()?.startsWith(text);

const mustBeCountry = "must be a country's two capital letters (ISO 3166-1)";
const countryCode = z.string().check(z.refine(hasNumbers, mustBeCountry));
const countryOrAll = z
  .string()
  .check(z.refine((text) => text === "*" || hasNumbers(text), `${mustBeCountry}, or *`));
const numberPrefix = z
  .string()
  .check(
    z.regex(/^\+[1-9]\d{0,14}$/, "must be a prefix such as +1305"),
    z.overwrite(toCanonicalPrefix),
  );

/**
 * The dial plan: the provider of each agent, pace, hours and permitted destinations. The plan is the variable
 * DIAL_PLAN or else `infra/dial-plan.json`.
 */
export const dialPlanSchema = z
  .strictObject({
    /** Routes by agent_id; `*` is the route of every agent not named. */
    agents: z
      .record(
        z.string().check(z.minLength(1), z.maxLength(128)),
        z.looseObject({
          provider: z.optional(z.string(mustBeAccount)),
          callingHours: z.optional(z.string()),
          retry: z.optional(retrySchema),
          callBacks: z.optional(callBacksSchema),
          split: z.optional(armsSchema),
          detectPoints: z.optional(detectPointsSchema),
        }),
      )
      .check(z.refine((agents) => Object.keys(agents).length > 0, "must name an agent, or *")),
    providers: z._default(
      z.record(
        z.string().check(
          z.regex(/^[a-z][a-z0-9-]{0,39}$/, "must be a name such as twilio-eu"),
          // Names of the secrets of receivers, checks and tokens begin so.
          z.refine(
            (name) => !/^(events|checks|api-tokens|operator-tokens)(-|$)/.test(name),
            "must not begin with events, checks, api-tokens or operator-tokens",
          ),
          z.refine((name) => name !== sandboxType, "must not be sandbox, which dials test calls"),
        ),
        accountSchema,
      ),
      {},
    ),
    /** Named sets of hours. `default` applies to every agent that names none. */
    callingHours: z
      .record(z.string(), hoursSchema)
      .check(z.refine((sets) => Object.hasOwn(sets, "default"), 'must have a set named "default"')),
    /** Rules by country of the number, in two capital letters. They and the agent's hours must all be open. */
    countries: z._default(
      z.record(
        countryCode,
        z.strictObject(destinationRules).check(z.refine(saysSomething, mustSaySomething)),
      ),
      {},
    ),
    /**
     * Rules for numbers that begin with one of `prefixes`. The preset of a state brings its prefixes, and us-states is all of
     * these presets, `except` those of some states.
     */
    regions: z._default(
      z.record(
        z.string(),
        z
          .strictObject({
            ...destinationRules,
            prefixes: z.optional(z.array(numberPrefix).check(z.minLength(1))),
            except: z.optional(z.array(z.string())),
          })
          .check(z.refine(saysSomething, mustSaySomething)),
      ),
      {},
    ),
    /** Maximum calls to any one number. */
    maxCalls: z.optional(frequencyCapSchema),
    /** Days on which nobody is phoned, `YYYY-MM-DD` in the callee's local time. */
    blackoutDates: z._default(
      z.array(z.string().check(z.refine(isDate, "must be a date such as 2026-12-25"))),
      [],
    ),
    /** Time zone of a call without `timezone` to a number without a known zone. */
    defaultTimeZone: z.optional(
      z
        .string()
        .check(z.refine(isTimeZone, "must be an IANA time zone, UTC, Z or an offset ±HH:MM")),
    ),
    destinations: z.strictObject({
      /** Countries that may be called. `*` stands for all of them, and for numbers of no country. */
      allow: z.array(countryOrAll).check(z.minLength(1)),
      /** Countries and number prefixes that may not be called, even if allowed above. */
      deny: z._default(
        z.array(
          z.string().check(
            z.refine(
              (text) => /^\+[1-9]\d{0,14}$/.test(text) || hasNumbers(text),
              "must be a prefix such as +1900, or a country's two capital letters",
            ),
            z.overwrite(toCanonicalPrefix),
          ),
        ),
        [],
      ),
      /** Costly services that may be called all the same. They are denied otherwise: toll fraud. */
      allowServices: z._default(z.array(z.enum(costlyServices)), []),
    }),
    /** Time from acceptance after which a call that was not dialed ends EXPIRED. */
    expireAfterHours: z._default(z.number().check(z.positive(), z.maximum(720)), 168),
    /** Time for which an unknown outcome is looked up before it goes to NEEDS_REVIEW. */
    reviewAfterSeconds: z._default(z.int().check(z.minimum(1), z.maximum(86_400)), 300),
    /** Present: results of placed calls are polled. Absent: they are not, and callbacks are refused. */
    results: z.optional(
      z.strictObject({
        /** Time after its placement for which a call's result is polled. */
        waitMinutes: z._default(z.int().check(z.minimum(5), z.maximum(1440)), 240),
        /** True: an agent whose calls end at once, or are blocked, is paused. */
        pauseAgents: z.optional(z.boolean()),
      }),
    ),
    /** Receivers of events by client; `*` serves every client without an entry. Absent: there are no events. */
    events: z.optional(
      z.record(realClient, receiverSchema).check(
        z.refine((events) => Object.keys(events).length > 0, "must name a client, or *"),
        z.refine(
          (events) => Object.keys(events).every((name) => parseClientReceiver(name) === undefined),
          'names must not begin with "own:"',
        ),
      ),
    ),
    /** False: clients may have no receivers of their own, and those that they have get nothing. */
    clientReceivers: z.optional(z.boolean()),
    /** Limits by client, above which its calls are refused. Absent: there are none. */
    guards: z.optional(guardsSchema),
    /** Checks that are asked about a call before it is dialed, by name. Absent: there are none. */
    checks: checksSchema,
    /** Present: requests have traces, and spans and metrics are sent (OTLP/HTTP). Absent: none. */
    traces: z.optional(
      z.strictObject({
        /** Share of the requests that may be sampled. */
        share: z.number().check(z.positive(), z.maximum(1)),
      }),
    ),
    /** Time that a call's row is kept after its acceptance. */
    retentionDays: z._default(z.number().check(z.positive(), z.maximum(3650)), 60),
  })
  .check(
    z.superRefine(({ events = {} }, { addIssue }) => {
      const names = Object.keys(events);
      for (const [index, name] of names.entries()) {
        const other = names
          .slice(0, index)
          .find((one) => receiverSecret(one) === receiverSecret(name));
        if (other === undefined) continue;
        const message = `has the secret ${receiverSecret(name)}, as ${other} has`;
        addIssue({ code: "custom", path: ["events", name], message });
      }
    }),
    z.superRefine(({ providers, results }, { addIssue }) => {
      for (const [name, { liveCalls }] of Object.entries(providers)) {
        if (liveCalls === undefined || results !== undefined) continue;
        const message = "needs results in the plan, which report when a call ended";
        addIssue({ code: "custom", path: ["providers", name, "liveCalls"], message });
      }
    }),
    z.superRefine(({ agents, providers, callingHours, countries, regions }, { addIssue }) => {
      const refuse = (path: string[], message: string) =>
        addIssue({ code: "custom", path, message });
      const isPreset = (name: string) => name === "always" || Object.hasOwn(presets, name);
      const isName = (name: string) => isPreset(name) || Object.hasOwn(callingHours, name);
      const presetNames = ["always", ...Object.keys(presets)].join(", ");
      for (const [name, { type }] of Object.entries(providers)) {
        if (type !== undefined || isPlannedType(name)) continue;
        refuse(["providers", name], `needs a type: one of ${typesText}`);
      }
      for (const [name, hours] of Object.entries(callingHours)) {
        if (isPreset(name)) refuse(["callingHours", name], "has the name of a preset");
        if (typeof hours === "string" && !isPreset(hours)) {
          refuse(["callingHours", name], `must be hours, or one of ${presetNames}`);
        }
      }
      const message = `must name a set of callingHours, or one of ${presetNames}`;
      for (const [key, rules] of Object.entries({ agents, countries, regions })) {
        for (const [name, { callingHours: hours }] of Object.entries(rules)) {
          if (typeof hours !== "string" || isName(hours)) continue;
          if (key === "regions" && hours === allStates) continue;
          refuse([key, name, "callingHours"], message);
        }
      }
      for (const [name, { prefixes, except, callingHours: hours }] of Object.entries(regions)) {
        for (const [field, problem] of stateProblems({ prefixes, except, hours })) {
          refuse(["regions", name, field], problem);
        }
        if (hours === allStates) continue;
        const own = typeof hours === "string" && Object.hasOwn(presets, hours) ? hours : "";
        if (prefixes === undefined && presets[own]?.prefixes === undefined) {
          refuse(["regions", name, "prefixes"], "is required: where the region's numbers begin");
        }
      }
    }),
    // A duplicate delivery must find its call's row, and queue and dead-letter queue each keep messages for 14 days.
    z.refine(
      ({ expireAfterHours, retentionDays }) => retentionDays * 24 >= expireAfterHours + 28 * 24,
      {
        path: ["retentionDays"],
        error: "must be at least 28 days more than expireAfterHours",
      },
    ),
  );

/** The plan as written, with each agent's route parsed by its account's type. */
export type DialPlan = Omit<z.infer<typeof dialPlanSchema>, "agents"> & {
  agents: Record<string, Route>;
  /** Rules by agent_id. They are no part of a route, which each row stores. */
  retries: Record<string, RetryRule>;
  callBacks: Record<string, CallBackRule>;
  /** Agents whose calls are divided among others, by agent_id. They have no route. */
  splits: Record<string, Split>;
};
