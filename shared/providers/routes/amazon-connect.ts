import type { CallRequest } from "../../calls/call.ts";
import { isE164 } from "../../numbering/phone-number.ts";
import * as z from "../../platform/zod.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z.strictObject({
    ...routeFields,
    type: z.literal("amazon-connect"),
    baseUrl: z.optional(httpsUrl),
    /** AWS region of the instance. */
    region: z
      .string()
      .check(z.regex(/^[a-z]{2}(-[a-z]+)+-\d$/, "must be a region such as us-east-1")),
    /** Id of the instance. It becomes part of the ARN in the dialer's policy, so nothing but an id may stand here. */
    instance: z.guid("must be the id of an instance, the last part of its ARN"),
    /** Id of the flow that takes the answered call. */
    flow: z.string().check(z.minLength(1), z.maxLength(200)),
    /** The calling number, claimed for the instance. */
    from: z.string().check(z.refine(isE164, "must be an E.164 number")),
    /** False: a call of unknown outcome is not sent again under its token, and waits for a person. */
    idempotent: z._default(z.boolean(), true),
  }),
);

export type ConnectRoute = z.infer<typeof routeSchema>;

/** Maximum size of all attributes of a contact, names and values in UTF-8. */
const attributeBytesMax = 32_768;

/** Attribute of our own, beside the context's. */
export const ownAttribute = "call_id";

/** Bytes that are reserved for our own attribute: its name, and a call's id of 37 characters. */
const ownBytesMax = 64;

/** Routes of Amazon Connect, as a dial plan has them. */
export const amazonConnectRoutes: ProviderType<ConnectRoute> = {
  name: "amazon-connect",
  routeSchema,
  // The default quota, of an AWS account in a region. Amazon Connect refuses what is above it and queues nothing.
  callsPerSecond: 2,
  accountOf: ({ provider }) => provider,
  secretsOf: (_route, hasRole) => (hasRole ? [] : ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY"]),
  contextProblem,
};

/** Attributes may have names of some characters only, and a size together. */
function contextProblem({ context = {} }: CallRequest): string | undefined {
  const names = Object.keys(context);
  if (!names.every((name) => /^[\w-]+$/.test(name))) {
    return "must have keys of A–Z, a–z, 0–9, - and _ alone, as the attributes of Amazon Connect";
  }
  if (names.includes(ownAttribute)) {
    return `must not have the key ${ownAttribute}, which is an attribute of our own`;
  }
  const bytes = Object.entries(context).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
  return bytes > attributeBytesMax - ownBytesMax
    ? `is too large for Amazon Connect, which takes ${attributeBytesMax} bytes of attributes`
    : undefined;
}
