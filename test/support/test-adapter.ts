import { onTestFinished } from "vitest";
import { startStandIn } from "#infra/stand-ins/stand-in.ts";
import type { Call, Route } from "#shared/calls/call-request.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { aCall } from "./calls.ts";
import { imitationOf, knownType, startPair } from "./stand-ins.ts";
import { startTestReceiver } from "./test-receiver.ts";

/** Starts a stand-in of a type for the current test. */
export async function startTestStandIn(
  type: string,
  options: Parameters<typeof startStandIn>[1] = {},
) {
  const standIn = await startStandIn(imitationOf(type), options);
  onTestFinished(standIn.close);
  return standIn;
}

/** Starts a stand-in and its adapter for the current test. */
export async function startTestPair(...words: Parameters<typeof startPair>) {
  const pair = await startPair(...words);
  onTestFinished(pair.standIn.close);
  return pair;
}

/** Returns a route of a type, as the dial plan has it. @throws if the plan refuses it, with what is wrong */
export function routeOf(type: string, fields: object, baseUrl?: string): Route {
  const parsed = routeKinds.parseRoute(
    { account: type, ...fields },
    { provider: knownType(type), baseUrl },
  );
  if ("issues" in parsed) throw new Error(parsed.issues.map(({ message }) => message).join());
  return parsed.route;
}

/** Returns why a route cannot carry a context; undefined: it can. */
export const contextProblemOf = (context: Record<string, string>, route: Route) =>
  routeKinds.contextProblem({ ...aCall().request, context }, route);

/** Returns a call with this context. */
export const aCallWith = (context: Record<string, string>): Call =>
  aCall({ request: { ...aCall().request, context } });

/** Returns the adapter of a route with these secrets, and the route. */
export function adapterOf(route: Route, environment: Record<string, string>, now = Date.now) {
  const options = { environment, fetch, now, print: () => undefined };
  return { route, provider: createProviders(options, [route])(route) };
}

/** Starts a receiver for the current test, and points an adapter of a type with these fields and secrets at it. */
export async function startTestAdapter(
  type: string,
  fields: object,
  secrets: Record<string, string>,
  answer: Parameters<typeof startTestReceiver>[0],
) {
  const receiver = await startTestReceiver(answer);
  return { ...receiver, ...adapterOf(routeOf(type, fields, receiver.url), secrets) };
}
