import type { Call, Route } from "#shared/calls/call-request.ts";
import { toCallId, createRequestId } from "#shared/calls/ids.ts";
import { randomId } from "#shared/lib/random.ts";
import type { DialingProvider, DialOutcome, FoundCall } from "#shared/providers/provider.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { listsEndedCalls, routeKinds } from "#shared/providers/routes.ts";
import { callbackAddressAlong } from "#shared/settings/callback-url.ts";
import { Failure } from "../calls/failures.ts";
import { hasRole, meaningOf } from "./meanings.ts";
import { printedFetch } from "./printed-fetch.ts";
import type { Surroundings } from "./surroundings.ts";

/** Pauses before the tries of the look-up: no provider promises to list a new call at once. */
const lookUpPausesSeconds = [3, 5, 10, 20];
/** Time that a provider's clock may be behind ours. */
const clockMsMax = 60_000;

/** A check of an account: its route, and the number that rings. */
export interface Check {
  agentId: string;
  route: Route;
  phoneNumber: string;
  timeoutSeconds: number;
  /** Settings that make the address for callbacks. Absent: the request carries none. */
  callbacks?: { publicUrl: string; hashKey: string } | undefined;
}

/**
 * Makes one call through an account and looks it up, as the dialer would, and prints each step.
 *
 * @returns true if the call was placed and found, or was placed and the provider has no records to search
 */
export async function checkAccount(
  provider: DialingProvider<Route>,
  check: Check,
  { now, print, pause }: Omit<Surroundings, "environment" | "fetch">,
): Promise<boolean> {
  const { route, timeoutSeconds, callbacks } = check;
  const call = callOf(check, now());
  print(`Calling, as ${call.id}:`);
  const startedAt = now();
  const claim = { id: call.id, claim: "check" };
  const callbackUrl = callbacks && callbackAddressAlong(route, claim, callbacks);
  const outcome = await provider.dial(
    { call, attempt: 1, timeoutSeconds, guarded: (own) => own, callbackUrl },
    route,
  );
  print(`Outcome: ${nameOf(outcome)}`);
  const explain = (one: DialOutcome) => {
    const { means, todo } = meaningOf(one, route);
    print(`  ${means}`);
    print(`  ${todo}`);
  };
  explain(outcome);
  if (outcome.kind !== "placed" && outcome.kind !== "unknown") return false;
  if (provider.lookUp === undefined) {
    print("Look-up: this provider has no records to search.");
    return outcome.kind === "placed";
  }
  if (listsEndedCalls(route)) {
    print("  Its records have calls that have ended: answer the phone and hang up.");
  }
  const sought = { call, attempt: 1, from: startedAt - clockMsMax };
  for (const seconds of lookUpPausesSeconds) {
    print(`Looking it up, after ${seconds} s:`);
    await pause(seconds);
    const until = now() + clockMsMax;
    const found = await provider.lookUp({ ...sought, until }, route).catch(() => "unreadable");
    if (typeof found === "object" && "notPlaced" in found) {
      print(`Look-up: the records prove that nothing was placed: ${nameOf(found.notPlaced)}.`);
      explain(found.notPlaced);
      return false;
    }
    const isFound = typeof found === "object" && isOfCall(found, outcome);
    print(`Look-up: ${resultOf(found, isFound)}`);
    if (isFound) return outcome.kind === "placed";
  }
  print("  The dialer would look again, and then let a person decide (NEEDS_REVIEW).");
  return false;
}

/**
 * Returns the adapter of a route, which prints its requests.
 *
 * @throws a Failure if the environment lacks a secret of the account, or has a malformed one
 */
export function providerOf(
  route: Route,
  { environment, fetch, now, print }: Surroundings,
): DialingProvider<Route> {
  const names = routeKinds.listSecrets(route, hasRole);
  const missing = names.filter((name) => !environment[name]);
  if (missing.length > 0) {
    throw new Failure(`${missing.join(" and ")} must be in the environment.`);
  }
  const malformed = names.filter((name) => !/^[\x21-\x7e]+$/.test(environment[name] ?? ""));
  if (malformed.length > 0) {
    throw new Failure(`${malformed.join(" and ")} must be printable ASCII without spaces.`);
  }
  const secrets = Object.fromEntries(names.map((name) => [name, environment[name] ?? ""]));
  const options = { environment, fetch: printedFetch(fetch, secrets, print), now, print };
  try {
    return createProviders(options, [route])(route);
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : "a secret is malformed", {
      cause: error,
    });
  }
}

/** Returns a call like those of clients, without context. */
function callOf({ agentId, phoneNumber }: Check, now: number): Call {
  const requestId = createRequestId(now, randomId());
  return {
    id: toCallId(requestId, 0),
    requestId,
    batchCalls: 1,
    client: "providers-check",
    mode: "live",
    acceptedAt: now,
    request: { phone_number: phoneNumber, agent_id: agentId, context: {} },
  };
}

function nameOf(outcome: DialOutcome): string {
  if (outcome.kind !== "placed") return `${outcome.kind}, ${outcome.code}`;
  return outcome.providerCallId === undefined ? "placed" : `placed, ${outcome.providerCallId}`;
}

/** Calls that a look-up has found. */
type FoundOnes = Exclude<FoundCall, { notPlaced: unknown }>;

/** True if the look-up has found the call that was placed, or the only one that it can be. */
function isOfCall(found: FoundOnes, outcome: DialOutcome): boolean {
  if (found.by === "id") return true;
  const placed = outcome.kind === "placed" ? outcome.providerCallId : undefined;
  return placed === undefined
    ? found.providerCallIds.length === 1
    : found.providerCallIds.includes(placed);
}

function resultOf(found: FoundOnes | string | undefined, isFound: boolean): string {
  if (typeof found === "string") return "the records could not be read.";
  if (found === undefined) return "not found yet.";
  if (found.by === "id") return `found by our id, ${found.providerCallId}.`;
  const count = found.providerCallIds.length;
  return isFound ? `found by number and time, among ${count}.` : `not found among ${count} calls.`;
}
