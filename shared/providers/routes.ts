import { type CallRequest, type Route, sandboxType } from "../calls/call-request.ts";
import type * as z from "../lib/zod.ts";
import type { AwsRole } from "./provider.ts";
import type { ProviderType } from "./define-provider.ts";
import { readCallerPool } from "./caller-pool.ts";
import { type ProviderRoute, providerTypes } from "./list.ts";

const types: readonly ProviderType<ProviderRoute>[] = providerTypes;
const typesByName = new Map<string, ProviderType<Route>>(types.map((type) => [type.name, type]));

/** Names of the kinds of dialing provider that a dial plan may name. */
export const typeNames: readonly string[] = [...typesByName.keys()].filter(
  (name) => name !== sandboxType,
);

/** True if a row's route is of a kind that this version knows. */
export function isRouteType(type: string): boolean {
  return typesByName.has(type);
}

/** Parses the fields of a dial plan's route by its account's type. Paths of issues are relative to the route. */
export function parseRoute(
  fields: Record<string, unknown>,
  account: {
    type: string;
    baseUrl?: string | undefined;
    timeoutSeconds?: number | undefined;
  },
): { route: Route } | { issues: z.core.$ZodIssue[] } {
  const { type, baseUrl, timeoutSeconds = defaultTimeoutSeconds(account) } = account;
  const pool = readCallerPool(fields["from"], typeOf({ type }).hasCallerId === true);
  if ("issues" in pool) return pool;
  const { callerIds } = pool;
  const { data, error } = typeOf({ type }).routeSchema.safeParse({
    ...fields,
    ...(callerIds === undefined ? {} : { from: callerIds[0] }),
    type,
    ...(baseUrl === undefined ? {} : { baseUrl }),
  });
  if (data === undefined) return { issues: error?.issues ?? [] };
  const message = typeOf({ type }).timeProblem?.(data, timeoutSeconds);
  return message === undefined
    ? { route: callerIds === undefined ? data : { ...data, callerIds } }
    : { issues: [{ code: "custom", path: [], message, input: undefined }] };
}

/**
 * Returns the names of the environment variables that a route's account needs.
 *
 * @param hasRole true for a Lambda function, whose role may replace secrets
 */
export function listSecrets(route: Route, hasRole: boolean): string[] {
  return typeOf(route)
    .secretsOf(route, hasRole)
    .map((name) => secretName(route.provider, name));
}

/**
 * Returns the credentials of the function's role, if this is the environment of a Lambda function. Elsewhere these
 * variables may hold the credentials of whoever started the process, which must sign nothing.
 */
export function findRole(environment: Record<string, string | undefined>): AwsRole | undefined {
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

/** True if a result along this route can say that a machine answered. */
export function tellsVoicemail(route: Route): boolean {
  return typeOf(route).tellsVoicemail?.(route) === true;
}

/** Default of `timeoutSeconds` for types that name none. */
const timeoutSecondsDefault = 30;

/** Returns the default time limit for an answer of a route's provider, in seconds. */
export function defaultTimeoutSeconds(route: { type: string }): number {
  return typeOf(route).timeoutSeconds ?? timeoutSecondsDefault;
}

/** True if a route's agent may join late, so that its absence need not be the route's fault. */
export function hasLateAgents(route: Route): boolean {
  return typeOf(route).hasLateAgents === true;
}

/** Returns the default calls per second of a route's account; undefined: no rate limit. */
export function defaultCallsPerSecond(route: Route): number | undefined {
  return typeOf(route).callsPerSecond;
}

/** True if a look-up along this route finds a call only once it has ended. */
export function listsEndedCalls(route: Route): boolean {
  return typeOf(route).listsEnded === true;
}

/** Returns the headers that sign the callbacks of a type of account. Undefined: its callbacks are hints. */
export function callbackHeadersOf(type: string): readonly string[] | undefined {
  return typeOf({ type }).callbackHeaders;
}

/** Composes a variable's name: `twilio-eu` and `ACCOUNT_SID` give `TWILIO_EU_ACCOUNT_SID`. */
export function secretName(account: string, name: string): string {
  return `${account.toUpperCase().replaceAll("-", "_")}_${name}`;
}

function typeOf(route: { type: string }): ProviderType<Route> {
  const type = typesByName.get(route.type);
  if (type === undefined) throw new Error("a route names an unknown provider");
  return type;
}
