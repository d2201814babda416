/**
 * Plivo: `POST /v1/Account/{auth_id}/Call/` (https://docs.plivo.com/docs/voice/api/calls), JSON, Basic authentication.
 * Secrets: `PLIVO_AUTH_ID` and `PLIVO_AUTH_TOKEN`.
 *
 * ```json
 * {"from": "12025550100", "to": "12025550123", "answer_url": "https://…?call_id=call_…", "ring_timeout": 60}
 * ```
 *
 * Numbers have no `+`, and a `<` in `to` would begin another number. The XML for an answered call comes from the
 * user's URL, so no context can be carried.
 *
 * 201 with `request_uuid`: placed, possibly only in Plivo's own queue, where calls above the account's calls per
 * second wait (support.plivo.com, Calls per Second). Errors are `{api_id, error}` without a code: see `exception`.
 * The text is read and never repeated, as it may quote the number. Plivo's SDK repeats a POST twice after a 5xx. This
 * adapter repeats nothing.
 *
 * No field of a call can hold an id of ours, so a look-up finds calls by number and time: those in progress, and those
 * that have ended. A call that waits in the queue is in neither list.
 */
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { answerUrl, withCallId } from "./answer-target.ts";
import { defineProvider, defineRoute, idText, phoneNumber } from "./define-provider.ts";
import { findCall, list, readCall } from "./plivo-records.ts";
import type { DialOutcome } from "./provider.ts";
import { postJson, toOutcome } from "./provider-http.ts";
import { createListReader } from "./provider-records.ts";

/** Routes of Plivo, as a dial plan has them. */
export const plivoRoutes = defineRoute(
  "plivo",
  (fields) =>
    z.strictObject({
      ...fields,
      baseUrl: z.optional(httpsUrl),
      /** The calling number, rented from Plivo or verified there. */
      from: phoneNumber,
      /** URL from which Plivo fetches its XML once the call is answered. */
      answerUrl: answerUrl(),
      /** `machine_detection`: whether to detect a machine, and to hang up if it answers. */
      machineDetection: z.optional(z.enum(["true", "hangup"])),
      /** `ring_timeout`: longest time for which the phone rings. */
      ringSeconds: z.optional(z.int().check(z.minimum(1), z.maximum(600))),
      /** True to have Plivo report a call's end to this service instead of to `answerUrl`. */
      callbacks: z.optional(z.boolean()),
    }),
  {
    callsPerSecond: 1,
    hasCallerId: true,
    secrets: ["AUTH_ID", "AUTH_TOKEN"],
    reportsVoicemail: ({ machineDetection }) => machineDetection === "hangup",
    contextProblem: ({ context = {} }) =>
      Object.keys(context).length > 0
        ? "must be empty: this agent's answerUrl cannot carry it"
        : undefined,
  },
);
type PlivoRoute = z.infer<typeof plivoRoutes.routeSchema>;

export const plivo = /* @__PURE__ */ defineProvider(plivoRoutes, ({ secret, fetch, now }) => {
  const apiOf = ({ account, baseUrl = "https://api.plivo.com" }: PlivoRoute) => {
    const authId = secret(account, "AUTH_ID") ?? "";
    const credentials = `${authId}:${secret(account, "AUTH_TOKEN") ?? ""}`;
    return {
      url: `${baseUrl}/v1/Account/${encodeURIComponent(authId)}/Call/`,
      headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
    };
  };
  return {
    async dial({ call: { id, request }, timeoutSeconds, guarded, ...more }, route) {
      const { callbackUrl, maxCallMinutes } = more;
      const { machineDetection, ringSeconds, callbacks } = route;
      const json = {
        from: digitsOf(route.from),
        to: digitsOf(request.phone_number),
        answer_url: withCallId(route.answerUrl, id),
        ...(machineDetection === undefined ? {} : { machine_detection: machineDetection }),
        ...(ringSeconds === undefined ? {} : { ring_timeout: ringSeconds }),
        ...(maxCallMinutes === undefined ? {} : { time_limit: maxCallMinutes * 60 }),
        ...(callbacks === true && callbackUrl !== undefined
          ? { hangup_url: callbackUrl, hangup_method: "POST" }
          : {}),
      };
      const { url, headers } = apiOf(route);
      const answer = await postJson(guarded(fetch), url, { headers, json, timeoutSeconds });
      return toOutcome(answer, { callIdIn, exception }, now());
    },

    lookUp({ call, from, until }, route) {
      const number = digitsOf(call.request.phone_number);
      const sought = { number, ownNumber: digitsOf(route.from), from, until };
      return findCall(sought, apiOf(route), fetch);
    },

    readResult: (placed, route) => readCall(placed, apiOf(route), fetch),

    listResults: createListReader(fetch, apiOf, list),
  };
});

/** Returns an E.164 number in Plivo's form. */
function digitsOf(number: string): string {
  return number.slice(1);
}

/** One id, or a list of as many as `to` has numbers (plivo, CreateCallResponse). */
const createdSchema = () => z.object({ request_uuid: z.union([idText, z.tuple([idText])]) });

function callIdIn(body: unknown): string | undefined {
  const id = z.built(createdSchema).safeParse(body).data?.request_uuid;
  return Array.isArray(id) ? id[0] : id;
}

const errorSchema = () => z.object({ api_id: z.string(), error: z.string() });

/**
 * Returns the outcome of an error if it says more than its status (https://docs.plivo.com/docs/voice/api/overview). A
 * 404 concerns the account's id, or a calling number of another account. A 403 concerns the destination's country
 * (Geo Permissions) or the account, which only its text distinguishes.
 */
function exception(status: number, body: unknown): DialOutcome | undefined {
  const error = z.built(errorSchema).safeParse(body).data?.error;
  if (error === undefined) return undefined;
  if (status === 404) return { kind: "route_refused", code: "plivo_not_found" };
  return status === 403 && /\bgeo\b|\bgeo-?permission/i.test(error)
    ? { kind: "rejected", code: "plivo_geo_permission" }
    : undefined;
}
