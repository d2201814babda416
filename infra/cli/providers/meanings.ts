import type { DialOutcome } from "#shared/providers/provider.ts";
import { type Route } from "#shared/calls/call-request.ts";
import { routeKinds } from "#shared/providers/routes.ts";

/** An outcome in words: what it means, and what to do about it. */
interface Meaning {
  means: string;
  todo: string;
}

/** False: the command runs outside Lambda, where an account has secrets in the place of a function's role. */
export const hasRole = false;

/** Fields of every route, which say nothing of the provider's own. */
const common = new Set(["account", "provider", "callingHours", "maxCalls"]);

/** Describes the outcome of a request along a route. */
export function meaningOf(outcome: DialOutcome, route: Route): Meaning {
  const secrets = routeKinds.listSecrets(route, hasRole).join(" and ") || "the credentials";
  const fields = Object.keys(route)
    .filter((name) => !common.has(name))
    .join(", ");
  switch (outcome.kind) {
    case "placed":
      return { means: "The provider accepted the call.", todo: "The phone should ring now." };
    case "rejected":
      return outcome.blamesNumber === true
        ? {
            means: "The provider refuses this number.",
            todo: "Check the number, and whether the account may call its country; a trial account may only call numbers that it has verified.",
          }
        : {
            means: "The provider refuses this call permanently.",
            todo: `Compare the route (${fields}) with the provider's console, look the code up in its list of errors, and check whether the account may call the number's country.`,
          };
    case "not_placed":
      return outcome.unreachable === true
        ? {
            means: "The provider could not be reached, and nothing was sent.",
            todo: "Check the account's baseUrl in the dial plan, and this machine's network.",
          }
        : {
            means: "The provider accepts no call at this moment. Nothing was placed.",
            todo: `Wait${afterOf(outcome)} and check again. If it repeats, the account has a limit of calls a second or at once: set callsPerSecond to it.`,
          };
    case "account_refused":
      return {
        means: "The provider refuses the account, and would refuse every other call.",
        todo: `Check ${secrets}, and the account's balance and state in the provider's console.`,
      };
    case "route_refused":
      return {
        means:
          "The provider refuses a part of the route, and would refuse every other call along it.",
        todo: `Check the route in the dial plan: ${fields}.`,
      };
    case "forbidden":
      return {
        means:
          "The provider forbids this, and does not say whether it means the account or the call.",
        todo: `Check what the key (${secrets}) may do, and whether the account may call the number's country.`,
      };
    case "unknown":
      return {
        means: "The call may have been placed, so it is never sent again.",
        todo: "See whether the phone rings. After time_out, raise the account's timeoutSeconds.",
      };
  }
}

function afterOf({ retryAfterSeconds }: { retryAfterSeconds?: number | undefined }): string {
  return retryAfterSeconds === undefined ? "" : ` ${retryAfterSeconds} s`;
}
