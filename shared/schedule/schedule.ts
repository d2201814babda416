import type { CallRequest } from "../call.ts";
import { accountOf, type DialPlan, hoursOf } from "../dial-plan.ts";
import type { Log } from "../log.ts";
import { countryOf } from "../phone-number.ts";
import type { Route } from "../providers/index.ts";
import { allWeek, dayOf, type HoursRule, nextOpening, type Opening } from "./calling-hours.ts";
import type { FrequencyCap } from "./frequency-cap.ts";
import { type Zone, zoneOf } from "./time-zone.ts";
import { zonesOfNumber } from "./zone-of-number.ts";

/** Beside the provider's time limit: what is let through just before closing must not ring after it. */
const marginMs = 5_000;

/** What a dial plan says about when a call may be dialed, and how often its number. */
export interface Schedule {
  /**
   * The first moment of [`from`, `until`) at which all that holds for a call is open, with time left for the
   * provider to place it. Otherwise why not: the rule's place in the plan; `no_time_zone` where neither the call
   * nor its number nor the plan tells one; `no_clock` past the end of the table of time zones.
   */
  opening(request: CallRequest, route: Route, from: number, until: number): Opening;
  /** Why a provider's request that leaves now might ring when it must not; undefined where it may leave. */
  closedBy(request: CallRequest, route: Route, now: number): string | undefined;
  /** The caps that hold for a call, and whether it counts for any: another agent's call may come under others. */
  capsOf(request: CallRequest, route: Route): { caps: FrequencyCap[]; isCounted: boolean };
}

/** A rule of the plan as it is applied: its hours unless they are `always`, and its cap. */
interface Rule {
  hours?: HoursRule;
  caps: FrequencyCap[];
}

/** The schedule of a plan. Says once of each zone that the table of time zones and the runtime differ. */
export function createSchedule(plan: DialPlan, log: Log): Schedule {
  const ruleOf = (
    name: string,
    hours: Parameters<typeof hoursOf>[0] | undefined,
    maxCalls?: FrequencyCap,
  ): Rule => {
    const set = hours === undefined ? undefined : hoursOf(hours, plan);
    return {
      ...(set === undefined ? {} : { hours: { name, ...set } }),
      caps: [maxCalls, set?.maxCalls].filter((cap) => cap !== undefined),
    };
  };
  const setName = ({ callingHours = "default" }: Route) => callingHours;
  const sets = new Map(
    [...Object.keys(plan.callingHours), ...Object.values(plan.agents).map(setName)].map(
      (name) => [name, ruleOf(`callingHours.${name}`, name)] as const,
    ),
  );
  const countries = new Map(
    Object.entries(plan.countries).map(([country, { callingHours, maxCalls }]) => [
      country,
      ruleOf(`countries.${country}`, callingHours, maxCalls),
    ]),
  );
  const regions = Object.entries(plan.regions).map(([name, region]) => {
    const { callingHours, maxCalls } = region;
    const preset = callingHours === undefined ? undefined : hoursOf(callingHours, plan);
    const prefixes = region.prefixes ?? preset?.prefixes ?? [];
    return { prefixes, rule: ruleOf(`regions.${name}`, callingHours, maxCalls) };
  });
  const everywhere = ruleOf("maxCalls", undefined, plan.maxCalls);
  if (plan.blackoutDates.length > 0) {
    const days = new Set(plan.blackoutDates.map(dayOf));
    const closedOn = (day: number) => days.has(day);
    everywhere.hours = { name: "blackoutDates", weekly: allWeek, closedOn };
  }

  /** What holds for a number whatever the agent. */
  const rulesOfPlace = ({ phone_number }: CallRequest): Rule[] => {
    const rules = regions
      .filter(({ prefixes }) => prefixes.some((prefix) => phone_number.startsWith(prefix)))
      .map(({ rule }) => rule);
    const country = countries.size === 0 ? undefined : countries.get(countryOf(phone_number) ?? "");
    return [everywhere, ...(country === undefined ? [] : [country]), ...rules];
  };
  const rulesOf = (request: CallRequest, route: Route): Rule[] => {
    // A call that is sent again goes by the route it had, whose set the plan may have lost since: never open.
    const lost = { hours: { name: `callingHours.${setName(route)}`, weekly: [] }, caps: [] };
    return [sets.get(setName(route)) ?? lost, ...rulesOfPlace(request)];
  };

  const reported = new Set<string>();
  const zonesNamed = (names: readonly string[], at: number): Zone[] => {
    const zones = names.map(zoneOf).filter((zone) => zone !== undefined);
    if (zones.length < names.length) return []; // one that this runtime does not know: never open
    for (const { name, clocks } of zones) {
      const [first, second = first] = clocks;
      if (first(at)?.offsetMs === second(at)?.offsetMs || reported.has(name)) continue;
      reported.add(name);
      log("warning", "time_zone.disagreement", { time_zone: name });
    }
    return zones;
  };
  const namesOfZones = ({ timezone, phone_number }: CallRequest): readonly string[] => {
    const candidates = timezone === undefined ? zonesOfNumber(phone_number) : [timezone];
    return candidates.length > 0 ? candidates : [plan.defaultTimeZone ?? ""];
  };

  /** Of one window, as the calls of a batch share theirs and most of them their rules and zones. */
  let known = { window: "", openings: new Map<string, Opening>() };
  const openingFor = (
    request: CallRequest,
    route: Route,
    window: { from: number; until: number; marginMs: number },
  ): Opening => {
    const rules = rulesOf(request, route).flatMap(({ hours }) => hours ?? []);
    if (rules.length === 0) return { at: window.from };
    const names = namesOfZones(request);
    const windowKey = `${window.from} ${window.until} ${window.marginMs}`;
    if (known.window !== windowKey) known = { window: windowKey, openings: new Map() };
    const key = `${rules.map(({ name }) => name).join()} ${names.join()}`;
    const opening =
      known.openings.get(key) ??
      nextOpening({ rules, zones: zonesNamed(names, window.from) }, window);
    known.openings.set(key, opening);
    return opening;
  };
  const timeoutMs = (route: Route) => accountOf(route, plan).timeoutSeconds * 1000;

  return {
    opening: (request, route, from, until) =>
      openingFor(request, route, { from, until, marginMs: timeoutMs(route) + marginMs }),
    closedBy(request, route, now) {
      const window = { from: now, until: now + 1, marginMs: timeoutMs(route) };
      const opening = openingFor(request, route, window);
      return opening.at === undefined ? opening.closedBy : undefined;
    },
    capsOf(request, route) {
      const possible = [...sets.values(), ...rulesOfPlace(request)];
      return {
        caps: rulesOf(request, route).flatMap(({ caps }) => caps),
        isCounted: possible.some(({ caps }) => caps.length > 0),
      };
    },
  };
}
