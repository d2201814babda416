import type { KeyObject } from "node:crypto";
import type { Route } from "../calls/call-request.ts";
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { signingKeys, signingSecrets } from "./receivers.ts";

/** A check of the dial plan: a service of the user's that is asked about a call right before it is dialed. */
const checkSchema = z.strictObject({
  url: httpsUrl,
  /** Maximum time for its answer. */
  timeoutSeconds: z._default(z.int().check(z.minimum(1), z.maximum(10)), 3),
  /** Maximum rate of requests to it. */
  requestsPerSecond: z._default(z.number().check(z.minimum(0.1), z.maximum(1000)), 20),
  /** Time from the request of the check within which the call may be dialed. */
  validSeconds: z._default(z.int().check(z.minimum(5), z.maximum(600)), 60),
});
export type Check = z.infer<typeof checkSchema>;

/** Checks by name, as the dial plan has them. Absent: there are none. */
export const checksSchema = z.optional(
  z
    .record(
      z
        .string()
        .check(z.regex(/^[a-z][a-z0-9-]{0,39}$/, "must be a name such as crm or consent-eu")),
      checkSchema,
    )
    .check(z.refine((checks) => Object.keys(checks).length > 0, "must name a check")),
);

/** The part of a dial plan that has checks. */
interface PlanOfChecks {
  checks?: Record<string, Check> | undefined;
}

/** Returns the check of this name; undefined if the plan has none. */
export function findCheck(name: string, { checks = {} }: PlanOfChecks): Check | undefined {
  return Object.hasOwn(checks, name) ? checks[name] : undefined;
}

/** Returns an issue for each check that an agent's route names and the plan lacks. */
export function unknownChecks(
  agent: string,
  { checks = [] }: Pick<Route, "checks">,
  plan: PlanOfChecks,
): { path: PropertyKey[]; message: string }[] {
  const message = "must be one of the plan's checks";
  return checks.flatMap((name, index) =>
    findCheck(name, plan) !== undefined
      ? []
      : { path: ["agents", agent, "checks", index], message },
  );
}

/** Names the secret of a check: `CHECKS_CRM_EU_SECRET` for `crm-eu`. */
export function checkSecret(name: string): string {
  return `CHECKS_${name.toUpperCase().replaceAll("-", "_")}_SECRET`;
}

/** Returns the names of the secrets of a plan's checks. A check on this machine needs none. */
export function checkSecrets({ checks = {} }: PlanOfChecks): string[] {
  return signingSecrets(checks, checkSecret);
}

/**
 * Returns the keys that sign each check's requests; none for a check without a secret.
 *
 * @throws if a secret is malformed: the error names its variable
 */
export function checkKeys(
  { checks = {} }: PlanOfChecks,
  environment: Record<string, string | undefined>,
): Map<string, KeyObject[]> {
  return signingKeys(Object.keys(checks), { secretOf: checkSecret, environment });
}
