import { describe, expect, it } from "vitest";
import { parseDialPlan } from "#test/support/plans.ts";
import { impliedCountry } from "#shared/dial-plan/implied-country.ts";

function impliedBy(allow: string[], defaultTimeZone?: string, deny: string[] = []) {
  const agents = { "*": { provider: "webhook", url: "https://example.com/dial" } };
  const destinations = { allow, deny };
  const callingHours = { default: "always" };
  const plan = { agents, callingHours, destinations, ...(defaultTimeZone && { defaultTimeZone }) };
  return impliedCountry(parseDialPlan(plan, {}));
}

describe("the country of numbers without a country code", () => {
  it.each<[string, string | undefined, string[], (string | undefined)?, string[]?]>([
    ["the only one that may be called", "FR", ["FR"]],
    ["that of the default zone", "US", ["US", "CA", "FR"], "America/New_York"],
    ["that of the zone, wherever it stands in the list", "CA", ["US", "CA"], "America/Toronto"],
    ["that of the zone, not the first that keeps its time", "DE", ["AT", "DE"], "Europe/Berlin"],
    ["that of the zone where all may be called", "GB", ["*"], "Europe/London"],
    ["the one that is left", "US", ["US", "CA"], undefined, ["CA"]],
    ["none of several without a zone", undefined, ["US", "CA"]],
    ["none of a zone whose country may not be called", undefined, ["US", "CA"], "Europe/Paris"],
    ["none of no country", undefined, ["US", "CA"], "UTC"],
    ["the one that keeps the time of a former name", "IN", ["IN", "US"], "Asia/Kolkata"],
  ])("is %s: %s", (_, country, allow, zone, deny) => {
    expect(impliedBy(allow, zone, deny)).toBe(country);
  });
});
