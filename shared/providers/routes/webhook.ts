import * as z from "../../platform/zod.ts";
import { httpsUrl, isLoopback } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z.strictObject({
    ...routeFields,
    type: z.literal("webhook"),
    /** URL to which calls are posted. */
    url: httpsUrl,
    /** True if the receiver drops a `webhook-id` that it has seen, so that a call of unknown outcome may be resent. */
    idempotent: z.optional(z.boolean()),
  }),
);

export type WebhookRoute = z.infer<typeof routeSchema>;

/** Routes of a webhook, as a dial plan has them. */
export const webhookRoutes: ProviderType<WebhookRoute> = {
  name: "webhook",
  routeSchema,
  // Each host is an account of its own: a host that answers 401 says nothing about the others.
  accountOf: ({ provider, url }) => `${provider}:${new URL(url).origin}`,
  secretsOf: ({ url }) => (isLoopback(url) ? [] : ["SECRET"]),
  callbackHeaders: ["webhook-id", "webhook-timestamp", "webhook-signature"],
};
