import { countriesOfZone } from "../telephony/time-zone.ts";
import { countryOfZone } from "../telephony/zones-of-number.ts";
import type { DialPlan } from "./plan-schema.ts";

/** Returns the countries that may be called, and undefined where the plan permits all. */
export function allowedCountries({
  destinations: { allow, deny },
}: Pick<DialPlan, "destinations">): string[] | undefined {
  if (allow.includes("*")) return undefined;
  return allow.filter((country) => !deny.includes(country));
}

/**
 * Returns the country of numbers that are written without a country code: the only one that may be called, or else that
 * of the plan's default zone. Undefined where the plan implies none.
 */
export function impliedCountry(
  plan: Pick<DialPlan, "destinations" | "defaultTimeZone">,
): string | undefined {
  const allowed = allowedCountries(plan);
  if (allowed?.length === 1) return allowed[0];
  const zone = plan.defaultTimeZone;
  if (zone === undefined) return undefined;
  const isAllowed = (country: string) => allowed?.includes(country) ?? true;
  const own = countryOfZone(zone);
  if (own !== undefined) return isAllowed(own) ? own : undefined;
  const keeping = [...(countriesOfZone(zone) ?? [])].filter(isAllowed);
  return keeping.length === 1 ? keeping[0] : undefined;
}
