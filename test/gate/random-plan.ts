import type { Chance } from "./random.ts";

/** Agents of a random plan; the last one has no route unless the plan has `*`. */
export const agentIds = [
  "agent_web",
  "agent_host",
  "agent_again",
  "agent_pool",
  "agent_vapi",
  "agent_other",
] as const;

export const checkNames = ["crm", "consent", "fraud"] as const;
export const poolNumbers = ["+12125550190", "+13035550190", "+442079460190"] as const;

const nine = { "mon-sun": ["09:00-17:00"] };
const night = { "mon-fri": ["20:00-24:00"], "sat-sun": ["00:00-06:00"] };

/**
 * Returns the JSON of a plan: routes with and without pools, checks, sets of hours, paces, limits of days and lines. One
 * that is open permits calls at all hours to all countries.
 */
export function randomPlan(chance: Chance, { isOpen }: { isOpen: boolean }): object {
  const { is, one, below } = chance;
  const maybe = (probability: number, fields: object) => (is(probability) ? fields : {});
  const common = () => ({
    ...maybe(0.4, { callingHours: one(["nine", "night", "always", "default"]) }),
    ...maybe(0.35, { checks: checkNames.slice(0, below(checkNames.length + 1, 1)) }),
  });
  const limits = () => ({
    ...maybe(0.4, { callsPerDay: below(6, 1) }),
    ...maybe(0.4, { liveCalls: below(5, 1) }),
  });
  const account = () => ({
    ...maybe(0.5, {
      callsPerSecond: one([0.1, 1, 5, 30, 200]),
      ...maybe(0.4, { burst: below(8, 1) }),
    }),
    ...maybe(0.3, { concurrency: below(6, 1) }),
    ...limits(),
    ...maybe(0.3, { timeoutSeconds: below(90, 10) }),
    ...maybe(0.3, { maxCallMinutes: below(100, 1) }),
  });
  const web = (path: string, fields: object = {}) => ({
    provider: "webhook",
    url: `http://127.0.0.1:9/${path}`,
    ...common(),
    ...fields,
  });
  const pool = { pool: poolNumbers.slice(0, below(4, 1)), pick: "callee" };
  return {
    agents: {
      agent_web: web("web"),
      agent_host: web("", { url: "https://dial.example.com/x" }),
      agent_again: web("again", {
        idempotent: true,
        provider: one(["webhook", "again"]),
        ...maybe(0.3, { retry: { attempts: 3, within: "1h", after: { no_answer: "5m" } } }),
      }),
      agent_pool: {
        provider: "twilio",
        from: is(0.7) ? pool : poolNumbers[0],
        answerUrl: "https://example.com/twiml",
        ...common(),
      },
      agent_vapi: { provider: "vapi", agent: "assistant", from: "number", ...common() },
      ...maybe(0.5, { "*": web("all") }),
    },
    providers: {
      webhook: account(),
      again: { type: "webhook", ...account() },
      twilio: account(),
      vapi: account(),
    },
    callingHours: {
      default: isOpen ? "always" : one(["always", "always", "us-federal", nine, night]),
      nine: isOpen ? "always" : nine,
      night: is(isOpen ? 0 : 0.3) ? night : "always",
    },
    ...maybe(isOpen ? 0 : 0.5, {
      countries: {
        GB: { callingHours: nine },
        CA: { maxCalls: cap(chance) },
      },
    }),
    ...maybe(isOpen ? 0 : 0.3, { regions: { east: { prefixes: ["+1212"], callingHours: night } } }),
    ...maybe(0.6, { maxCalls: cap(chance) }),
    ...maybe(0.5, { defaultTimeZone: "America/Chicago" }),
    ...maybe(isOpen ? 0 : 0.1, { blackoutDates: ["2026-06-02"] }),
    destinations: {
      allow: isOpen ? ["*"] : one([["US", "CA", "GB"], ["US", "GB", "MX"], ["*"], ["*"]]),
      deny: ["+1900"],
    },
    checks: Object.fromEntries(
      checkNames.map((name) => [
        name,
        {
          url: `http://127.0.0.1:9/${name}`,
          requestsPerSecond: one([0.5, 20, 500]),
          validSeconds: one([5, 60, 600]),
        },
      ]),
    ),
    results: {},
    expireAfterHours: one([1, 24, 72, 168]),
    reviewAfterSeconds: one([600, 3600]),
  };
}

function cap({ below }: Chance): object {
  return { count: below(4, 1), days: below(8, 1) };
}
