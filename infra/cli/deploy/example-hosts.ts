import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Domains that are reserved for documents and tests (RFC 2606, RFC 6761): nobody's own service is there. */
const reserved = /(?:^|\.)(?:example(?:\.(?:com|net|org))?|invalid|test)\.?$/;

/**
 * Refuses a plan that still has a host of an example, to which numbers and contexts would be sent.
 *
 * @param names the secrets that are set: the plan in a secret DIAL_PLAN replaces the file's
 * @throws DeployError with the setting and its host
 */
export function requireOwnHosts(plan: DialPlan, names: readonly string[]): void {
  if (names.includes("DIAL_PLAN")) return;
  const found = findExampleHost(plan);
  if (found !== undefined) throw new DeployError(found);
}

/** Prints what a deployment of the plan would be refused for, if its hosts are those of examples. */
export function printRefusal({ print }: Pick<Tools, "print">, plan: DialPlan): void {
  const found = findExampleHost(plan);
  if (found !== undefined) print(`Would be refused: ${found}`);
}

/** Returns a sentence about the first setting with a host of an example. */
function findExampleHost({ agents, checks, events }: DialPlan): string | undefined {
  for (const [setting, entries] of Object.entries({ agents, checks, events })) {
    for (const [name, entry] of Object.entries(entries ?? {})) {
      const url = entry.url ?? ("baseUrl" in entry ? entry.baseUrl : undefined);
      const host = url === undefined ? "" : new URL(url).hostname;
      if (reserved.test(host)) {
        return `infra/dial-plan.json still names ${host} in ${setting}.${name}: set your own there (docs/dial-plan.md).`;
      }
    }
  }
  return undefined;
}
