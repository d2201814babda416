import { type AccountName, toAccountName } from "#shared/calls/ids.ts";
import * as dialPlan from "#shared/dial-plan/parse-dial-plan.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import * as routeTable from "#shared/dial-plan/route-table.ts";
import * as secrets from "#shared/dial-plan/secrets.ts";
import type { Log } from "#shared/lib/log.ts";
import { routeKinds as kinds } from "#shared/providers/routes.ts";
import * as settings from "#shared/settings/settings.ts";

// These functions know all kinds of providers, which entries hand in.

type Environment = Record<string, string | undefined>;

export const readDialPlan = (value: unknown) => dialPlan.readDialPlan(value, kinds);

export const parseDialPlan = (bundled: unknown, environment: Environment) =>
  dialPlan.parseDialPlan(bundled, environment, kinds);

export const createRouteTable = (plan: DialPlan) => routeTable.createRouteTable(plan, kinds);

export const readApiSettings = (environment: Environment, bundledPlan: unknown, log: Log) =>
  settings.readApiSettings(environment, { bundledPlan, kinds }, log);

export const readDialerSettings = <Connected extends object>(
  environment: Environment,
  entry: { bundledPlan: unknown; connect: (plan: DialPlan) => Connected },
  log: Log,
) => settings.readDialerSettings(environment, { ...entry, kinds }, log);

export const neededSecrets = (plan: DialPlan, hasRole: boolean) =>
  secrets.neededSecrets(plan, hasRole, kinds);

export const missingSecrets = (plan: DialPlan, environment: Environment) =>
  secrets.missingSecrets(plan, environment, kinds);

export const malformedSecrets = (plan: DialPlan, environment: Environment) =>
  secrets.malformedSecrets(plan, environment, kinds);

/** Returns the route that a plan's agent has, of a type of account. */
export function routeFrom<Type extends string, Written extends { provider: string }>(
  type: Type,
  { provider: account, ...fields }: Written,
): { provider: Type; account: AccountName } & Omit<Written, "provider"> {
  return { provider: type, account: toAccountName(account), ...fields };
}
