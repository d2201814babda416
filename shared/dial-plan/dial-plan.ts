import type { Call } from "../calls/call.ts";
import { type HoursPreset, presets } from "../schedule/presets.ts";
import { type DialPlan, planWithRoutesSchema } from "./plan-schema.ts";

/**
 * Parses the plan in force: `override` (the variable DIAL_PLAN, JSON) if it is set, otherwise `bundled`.
 *
 * @throws an Error whose message names every wrong field, one per line
 */
export function parseDialPlan(
  bundled: unknown,
  { DIAL_PLAN: override, ALLOW_SIMULATOR }: Record<string, string | undefined>,
): DialPlan {
  let value = bundled;
  if (override !== undefined && override !== "") {
    try {
      value = JSON.parse(override);
    } catch {
      throw new Error("DIAL_PLAN is not JSON"); // the parser's own message quotes the text
    }
  }
  // zod's records silently omit this key, and with it the rules under it.
  if (JSON.stringify(value ?? null).includes('"__proto__":')) {
    throw new Error("dial plan: plan: must not have the key __proto__");
  }
  const parsed = planWithRoutesSchema.safeParse(value);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => {
      const ofKey = issue.code === "invalid_key" ? issue.issues[0]?.message : undefined;
      const place = issue.path.map(String).join(".") || "plan";
      return `dial plan: ${place}: ${ofKey ?? issue.message}`;
    });
    throw new Error(lines.join("\n"));
  }
  const simulated = Object.entries(parsed.data.agents).find(([, { type }]) => type === "simulator");
  if (simulated !== undefined && ALLOW_SIMULATOR !== "true") {
    throw new Error(
      `dial plan: agents.${simulated[0]}: the simulator dials nobody; it is for npm start alone`,
    );
  }
  return parsed.data;
}

/** Returns the hours of a plan, written out or by name; undefined for `always`. */
export function hoursOf(
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

/** Returns the time at which an undialed call expires, in milliseconds since the epoch. */
export function expiryOf({ acceptedAt }: Pick<Call, "acceptedAt">, plan: DialPlan): number {
  return Math.round(acceptedAt + plan.expireAfterHours * 3_600_000);
}
