import * as z from "#shared/lib/zod.ts";
import { parsePlanVariable } from "#shared/dial-plan/parse-dial-plan.ts";
import { isLoopback } from "#shared/lib/https-url.ts";
import { standInTypes } from "../stand-ins/index.ts";
import { startStandIn } from "../stand-ins/stand-in.ts";

/** A dial plan whose accounts lead to stand-ins, and the credentials that these accept. */
export interface PlanOnStandIns {
  /** The plan as JSON. */
  plan: string;
  /** Made-up secrets, by the names of their environment variables. */
  secrets: Record<string, string>;
  /** Names of the accounts that have a stand-in now. */
  accounts: string[];
  close(): Promise<void>;
}

/** The parts of a plan that are changed. Everything else is left for the plan's own schema to judge. */
const planSchema = z.looseObject({
  // A split has no provider: its arms do.
  agents: z.record(z.string(), z.looseObject({ provider: z.optional(z.string()) })),
  providers: z._default(z.record(z.string(), z.looseObject({ type: z.optional(z.string()) })), {}),
});

/**
 * Starts a stand-in for each account that an agent of the plan dials through, and returns the plan that leads
 * to them. It serves the local run alone: no function reads such a setting.
 *
 * @param host interface of the service. Stand-ins accept made-up credentials, so others must not reach it.
 * @throws an Error in plain words if the host is not loopback, or the plan has no account to stand in for
 */
export async function startStandIns(
  given: string,
  { host, print }: { host: string; print: (line: string) => void },
): Promise<PlanOnStandIns> {
  if (!isLoopback(`http://${host}`)) {
    throw new Error(`PROVIDER_STANDINS needs a service on 127.0.0.1, and this one is on ${host}.`);
  }
  const plan = planSchema.safeParse(parsePlanVariable(given)).data;
  if (plan === undefined) throw new Error("DIAL_PLAN is not a dial plan.");
  const { agents, providers } = plan;
  const accounts = [...new Set(Object.values(agents).flatMap(({ provider }) => provider ?? []))]
    .map((name) => ({ name, type: standInTypes.get(providers[name]?.type ?? name) }))
    .flatMap(({ name, type }) => (type === undefined ? [] : [{ name, type }]));
  if (accounts.length === 0) {
    throw new Error(
      "PROVIDER_STANDINS needs a dial plan with an account of a provider: set DIAL_PLAN.",
    );
  }
  const secrets: Record<string, string> = {};
  const closing: (() => Promise<void>)[] = [];
  for (const { name, type } of accounts) {
    const prefix = name === type.name ? "" : `${name}: `;
    const { url, close } = await startStandIn(type, {
      print: (line) => print(prefix + line),
      visible: textsOf(agents),
    });
    closing.push(close);
    for (const [secret, value] of Object.entries(type.secrets)) {
      secrets[`${name.toUpperCase().replaceAll("-", "_")}_${secret}`] = value;
    }
    if (type.name !== "webhook") providers[name] = { ...providers[name], baseUrl: url };
    else moveWebhooks(agents, name, url);
  }
  return {
    plan: JSON.stringify(plan),
    secrets,
    accounts: accounts.map(({ name }) => name),
    close: async () => void (await Promise.all(closing.map((close) => close()))),
  };
}

/** Leads an account's webhooks to a stand-in. A webhook has its address in the route, not in the account. */
function moveWebhooks(
  agents: z.infer<typeof planSchema>["agents"],
  account: string,
  base: string,
): void {
  for (const route of Object.values(agents)) {
    const { provider, url } = route;
    if (provider !== account || typeof url !== "string" || !URL.canParse(url)) continue;
    route["url"] = base + new URL(url).pathname;
  }
}

/** Returns the agents' names and the values of their routes, which hold neither a context nor a secret. */
function textsOf(agents: z.infer<typeof planSchema>["agents"]): Set<string> {
  const values = Object.values(agents).flatMap((route) => Object.values(route));
  const texts = values.filter((value) => typeof value === "string");
  return new Set([...Object.keys(agents), ...texts]);
}
