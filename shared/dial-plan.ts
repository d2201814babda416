import * as z from "zod";
import type { CallRequest } from "./call.ts";
import { countryOf } from "./phone-number.ts";
import { providerNames, type Route, routeSchema, secretsOf } from "./providers/index.ts";

/** Refuses a setting of the plan whose rule is not kept yet: ignored, it would ring someone at night. */
const notYet = (what: string) => z.undefined({ error: `${what} not supported yet` }).optional();

const callingHoursSchema = z.literal("always", {
  error: 'must be "always": other calling hours are not supported yet',
});

const accountSchema = z.strictObject({
  /** Longest that a provider may take to answer; 90 leaves a 120 s function time to record the outcome. */
  timeoutSeconds: z.int().min(1).max(90).default(30),
  /** Most requests under way at once from one delivery of the queue. */
  concurrency: z.int().min(1).max(100).default(25),
  callsPerSecond: notYet("pacing is"),
  burst: notYet("pacing is"),
});

const countryOrAll = z
  .string()
  .regex(/^(\*|[A-Z]{2})$/, "must be a country's two capital letters (ISO 3166-1), or *");

/**
 * The dial plan: which agent goes to which provider, at what pace, when and where to. The one place where
 * these are decided; `infra/dial-plan.json`, or the variable DIAL_PLAN in its stead.
 */
const dialPlanSchema = z
  .strictObject({
    /** agent_id → route; `*` is the route of every agent not named. */
    agents: z
      .record(z.string().min(1).max(128), routeSchema)
      .refine((agents) => Object.keys(agents).length > 0, "must name an agent, or *"),
    providers: z
      .record(
        z.string().refine((name) => providerNames.includes(name), {
          error: `must be one of ${providerNames.join(", ")}`,
        }),
        accountSchema,
      )
      .default({}),
    /** Named sets of hours; `default` holds for every agent that names none. */
    callingHours: z
      .record(z.string(), callingHoursSchema)
      .refine((sets) => Object.hasOwn(sets, "default"), 'must have a set named "default"'),
    countries: notYet("rules per country are"),
    blackoutDates: notYet("blackout dates are"),
    defaultTimeZone: notYet("a default time zone is"),
    destinations: z.strictObject({
      /** Countries that may be called; `*` is all of them, and numbers of none. */
      allow: z.array(countryOrAll).min(1),
      /** Countries and number prefixes that may not, whatever is allowed. */
      deny: z
        .array(
          z
            .string()
            .regex(
              /^(\+[1-9]\d{0,14}|[A-Z]{2})$/,
              "must be a prefix such as +1900, or a country's two capital letters",
            ),
        )
        .default(["+1900", "+979", "+881", "+882", "+883"]), // premium rate and satellite: toll fraud
    }),
    /** A call not dialed by then ends EXPIRED. */
    expireAfterHours: z.number().positive().max(720).default(168),
    /** How long an unknown outcome is looked into before it waits for a person. */
    parkAfterSeconds: z.int().min(1).max(86_400).default(300),
    /** How long an ended call's row is kept. */
    retentionDays: z.number().positive().max(3650).default(60),
  })
  .superRefine(({ agents, callingHours }, { addIssue }) => {
    for (const [agent, { callingHours: set }] of Object.entries(agents)) {
      if (set !== undefined && !Object.hasOwn(callingHours, set)) {
        addIssue({
          code: "custom",
          path: ["agents", agent, "callingHours"],
          message: "must name a set of callingHours",
        });
      }
    }
  })
  // A duplicate delivery must find its call's row: queue and dead-letter queue keep 14 days each.
  .refine(
    ({ expireAfterHours, retentionDays }) => retentionDays * 24 >= expireAfterHours + 28 * 24,
    {
      path: ["retentionDays"],
      error: "must be at least expireAfterHours and 28 days",
    },
  );

export type DialPlan = z.infer<typeof dialPlanSchema>;

/**
 * The plan in force: `override` (the variable DIAL_PLAN, JSON) where it is set, else `bundled`.
 *
 * @throws an Error whose message names every field that is wrong, a line each
 */
export function parseDialPlan(
  bundled: unknown,
  { DIAL_PLAN: override, ALLOW_SIMULATOR }: Record<string, string | undefined>,
): DialPlan {
  let value = bundled;
  if (override !== undefined && override !== "") {
    try {
      value = JSON.parse(override);
    } catch {
      throw new Error("DIAL_PLAN is not JSON"); // the parser's own message quotes the text
    }
  }
  const parsed = dialPlanSchema.safeParse(value);
  if (!parsed.success) {
    throw new Error(
      parsed.error.issues
        .map(
          ({ path, message }) => `dial plan: ${path.map(String).join(".") || "plan"}: ${message}`,
        )
        .join("\n"),
    );
  }
  const simulated = Object.entries(parsed.data.agents).find(
    ([, { provider }]) => provider === "simulator",
  );
  if (simulated !== undefined && ALLOW_SIMULATOR !== "true") {
    throw new Error(
      `dial plan: agents.${simulated[0]}: the simulator dials nobody; it is for npm start alone`,
    );
  }
  return parsed.data;
}

/** Names of the secrets that the plan's providers need and `environment` lacks. */
export function missingSecrets(
  plan: DialPlan,
  environment: Record<string, string | undefined>,
): string[] {
  const needed = new Set(Object.values(plan.agents).flatMap(secretsOf));
  return [...needed].filter((name) => !environment[name]);
}

/** The route of an agent: its own, or that of `*`. */
export function routeOf(agentId: string, { agents }: DialPlan): Route | undefined {
  return Object.hasOwn(agents, agentId) ? agents[agentId] : agents["*"];
}

/** The settings of the account that a route dials through. */
export function accountOf(
  route: Route,
  { providers }: DialPlan,
): { timeoutSeconds: number; concurrency: number } {
  return providers[route.provider] ?? accountSchema.parse({});
}

/** Whether the plan permits calls to this number. */
export function mayBeCalled(
  { phone_number }: Pick<CallRequest, "phone_number">,
  { destinations: { allow, deny } }: DialPlan,
): boolean {
  if (deny.some((prefix) => prefix.startsWith("+") && phone_number.startsWith(prefix)))
    return false;
  const all = allow.includes("*");
  if (all && deny.every((prefix) => prefix.startsWith("+"))) return true;
  const country = countryOf(phone_number);
  if (country === undefined) return all;
  return (all || allow.includes(country)) && !deny.includes(country);
}
