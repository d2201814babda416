/**
 * SignalWire, by its API that is compatible with Twilio's (https://signalwire.com/docs/compatibility-api/rest/calls/create-a-call):
 * `POST {space}/api/laml/2010-04-01/Accounts/{project}/Calls.json`, form-encoded, Basic authentication by the project's id
 * and an API token. Secrets: `SIGNALWIRE_PROJECT_ID` and `SIGNALWIRE_API_TOKEN`.
 *
 * Requests, look-ups and results are those of twilio.ts. Its ids are UUIDs. The next page of a list is an address from
 * the host's root. Its own numbers of errors are documented apart from their statuses; those of Twilio have Twilio's
 * meaning, and the others follow their status.
 */
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute } from "./define-provider.ts";
import { callFields, createCalls, hasOneTarget, mustHaveOneTarget, toApi } from "./twilio.ts";
import { contextProblem } from "./twilio-twiml.ts";

/** Routes of SignalWire, as a dial plan has them. */
export const signalwireRoutes = defineRoute(
  "signalwire",
  (fields) =>
    z
      .strictObject({
        ...fields,
        /** Address of the space. */
        baseUrl: z
          .pipe(z.string("is required: set the account's baseUrl in providers"), httpsUrl)
          .check(
            z.refine((url) => !URL.canParse(url) || new URL(url).pathname === "/", {
              error: "must be the space's address alone, such as https://example.signalwire.com",
            }),
          ),
        ...callFields(),
      })
      .check(z.refine(hasOneTarget, mustHaveOneTarget)),
  {
    callsPerSecond: 1,
    secrets: ["PROJECT_ID", "API_TOKEN"],
    contextProblem: (request, { stream }) => contextProblem(request, stream),
  },
);
type SignalWireRoute = z.infer<typeof signalwireRoutes.routeSchema>;

export const signalwire = /* @__PURE__ */ defineProvider(signalwireRoutes, (options) =>
  createCalls<SignalWireRoute>(
    options,
    ({ provider, baseUrl }) => {
      const accountSid = options.secret(provider, "PROJECT_ID") ?? "";
      const password = options.secret(provider, "API_TOKEN") ?? "";
      return toApi(`${baseUrl}/api/laml`, { accountSid, user: accountSid, password });
    },
    "signalwire",
  ),
);
