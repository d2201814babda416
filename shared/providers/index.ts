import type * as z from "zod";
import type { CallRequest } from "../calls/call.ts";
import { amazonConnect } from "./amazon-connect.ts";
import type {
  AwsRole,
  DialingProvider,
  ProviderOptions,
  ProviderType,
} from "./dialing-provider.ts";
import { bland } from "./bland.ts";
import { elevenlabs } from "./elevenlabs.ts";
import { livekit } from "./livekit.ts";
import { retell } from "./retell.ts";
import { simulator } from "./simulator.ts";
import { telnyx } from "./telnyx.ts";
import { twilio } from "./twilio.ts";
import { ultravox } from "./ultravox.ts";
import { vapi } from "./vapi.ts";
import { webhook } from "./webhook.ts";

/** Every kind of dialing provider there is. */
const known = [
  amazonConnect,
  bland,
  elevenlabs,
  livekit,
  retell,
  simulator,
  telnyx,
  twilio,
  ultravox,
  vapi,
  webhook,
] as const;

/**
 * Route of an agent's calls, as kept with each call: the account's name (`provider`), its `type` and
 * `baseUrl`, and that provider's own fields.
 */
export type Route = z.infer<(typeof known)[number]["routeSchema"]>;

const types: readonly ProviderType<Route>[] = known;
const typesByName = new Map<string, ProviderType<Route>>(types.map((type) => [type.name, type]));
export const typeNames: readonly string[] = types.map(({ name }) => name);

/** Parses a route of a dial plan whose account is of this type. Paths of issues begin at the route. */
export function parseRoute(
  fields: Record<string, unknown>,
  account: { type: string; baseUrl?: string | undefined },
): { route: Route } | { issues: z.core.$ZodIssue[] } {
  const { type, baseUrl } = account;
  const { data, error } = typeOf({ type }).routeSchema.safeParse({
    ...fields,
    type,
    ...(baseUrl === undefined ? {} : { baseUrl }),
  });
  return data === undefined ? { issues: error?.issues ?? [] } : { route: data };
}

/** Names the account that a route's calls are placed under. */
export function accountNameOf(route: Route): string {
  return typeOf(route).accountOf(route);
}

/**
 * Returns the names of the environment variables that a route's account needs.
 *
 * @param hasRole true for a Lambda function, whose role may replace secrets
 */
export function secretsOf(route: Route, hasRole: boolean): string[] {
  return typeOf(route)
    .secretsOf(route, hasRole)
    .map((name) => secretName(route.provider, name));
}

/**
 * Returns the credentials of the function's role, if this is the environment of a Lambda function. Elsewhere
 * the same variables may be those of the person who has started the process, and sign nothing.
 */
export function roleIn(environment: Record<string, string | undefined>): AwsRole | undefined {
  const accessKeyId = environment["AWS_ACCESS_KEY_ID"];
  const secretAccessKey = environment["AWS_SECRET_ACCESS_KEY"];
  const sessionToken = environment["AWS_SESSION_TOKEN"];
  const isLambda = environment["AWS_LAMBDA_FUNCTION_NAME"] !== undefined;
  if (!isLambda || !accessKeyId || !secretAccessKey || !sessionToken) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken };
}

/** Describes why a call's context could not be carried whole along this route, or undefined. */
export function contextProblem(request: CallRequest, route: Route): string | undefined {
  return typeOf(route).contextProblem?.(request, route);
}

/** Returns the default calls per second of a route's account; undefined: no rate limit. */
export function defaultCallsPerSecond(route: Route): number | undefined {
  return typeOf(route).callsPerSecond;
}

/** Returns the headers that sign the callbacks of a type of account. Undefined: its callbacks are hints. */
export function callbackHeadersOf(type: string): readonly string[] | undefined {
  return typeOf({ type }).callbackHeaders;
}

/** Composes a variable's name: `twilio-eu` and `ACCOUNT_SID` give `TWILIO_EU_ACCOUNT_SID`. */
function secretName(account: string, name: string): string {
  return `${account.toUpperCase().replaceAll("-", "_")}_${name}`;
}

/**
 * Returns a function that finds the dialing provider of a route. @throws if a secret of one of `routes` is
 * malformed
 */
export function createProviders(
  {
    environment,
    ...options
  }: Omit<ProviderOptions, "secret" | "role"> & {
    environment: Record<string, string | undefined>;
  },
  routes: Route[],
): (route: Route) => DialingProvider<Route> {
  const secret = (account: string, name: string) => environment[secretName(account, name)];
  const role = roleIn(environment);
  const created = new Map(
    types.map((type) => [
      type,
      type.create(
        { ...options, secret, role },
        routes.filter((route) => route.type === type.name),
      ),
    ]),
  );
  return (route) => {
    const provider = created.get(typeOf(route));
    if (provider === undefined) throw new Error("a route names an unknown provider");
    return provider;
  };
}

function typeOf(route: { type: string }): ProviderType<Route> {
  const type = typesByName.get(route.type);
  if (type === undefined) throw new Error("a route names an unknown provider");
  return type;
}
