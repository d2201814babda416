/**
 * SignalWire, through its Twilio-compatible API
 * (https://signalwire.com/docs/compatibility-api/rest/calls/create-a-call): `POST
 * {space}/api/laml/2010-04-01/Accounts/{project}/Calls.json`, form-encoded, Basic authentication by the project's id
 * and an API token. Secrets: `SIGNALWIRE_PROJECT_ID` and `SIGNALWIRE_API_TOKEN`.
 *
 * Requests, look-ups and results are those of twilio.ts. Ids are UUIDs. The address of a list's next page begins at
 * the host's root. Errors are `{code}` or `{errors: [{code}]}` (github.com/signalwire/docs, specs/compatibility-api).
 * Codes that Twilio has too mean the same, except for 10004. SignalWire documents its other codes without their
 * statuses, so for those the status decides.
 */
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute } from "./define-provider.ts";
import {
  callFields,
  createCalls,
  hasOneTarget,
  mustHaveOneTarget,
  toApi,
  twilioCodes,
} from "./twilio.ts";
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
    hasCallerId: true,
    secrets: ["PROJECT_ID", "API_TOKEN"],
    reportsVoicemail: ({ machineDetection }) => machineDetection !== undefined,
    contextProblem: (request, { stream }) => contextProblem(request, stream),
  },
);
type SignalWireRoute = z.infer<typeof signalwireRoutes.routeSchema>;

export const signalwire = /* @__PURE__ */ defineProvider(signalwireRoutes, (options) =>
  createCalls<SignalWireRoute>(
    options,
    ({ account, baseUrl }) => {
      const accountSid = options.secret(account, "PROJECT_ID") ?? "";
      const password = options.secret(account, "API_TOKEN") ?? "";
      return toApi(`${baseUrl}/api/laml`, { accountSid, user: accountSid, password });
    },
    { name: "signalwire", codes },
  ),
);

/** Its own meaning of a code: a subproject of another project (…/rest/error-codes). */
const codes = /* @__PURE__ */ (() =>
  new Map([...twilioCodes, ["10004", "account_refused"] as const]))();
