import type { HoursPreset } from "../telephony/hours-presets-base.ts";
import { presets } from "../telephony/hours-presets.ts";
import { allStates, stateCodes } from "../telephony/state-presets.ts";
import type { DialPlan } from "./plan-schema.ts";

/** Returns the hours of a plan, written out or by name; undefined for `always`. */
export function findHours(
  hours: DialPlan["callingHours"][string],
  { callingHours }: DialPlan,
): HoursPreset | undefined {
  const isSet = typeof hours === "string" && Object.hasOwn(callingHours, hours);
  const set = isSet ? callingHours[hours] : hours;
  if (typeof set !== "string") return set;
  if (set === "always") return undefined;
  const preset = presets[set];
  if (preset === undefined) throw new Error("the plan names unknown hours");
  return preset;
}

type Region = DialPlan["regions"][string];

/** Returns the plan's regions by name. One of all states is a region for each state, which brings its own prefixes. */
export function listRegions({ regions }: DialPlan): [name: string, region: Region][] {
  return Object.entries(regions).flatMap(([name, region]): [string, Region][] => {
    if (region.callingHours !== allStates) return [[name, region]];
    return Object.entries(stateCodes)
      .filter(([state]) => region.except?.includes(state) !== true)
      .map(([state, callingHours]) => [`${name}.${state}`, { ...region, callingHours }]);
  });
}
