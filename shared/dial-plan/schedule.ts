import { closingMarginMs, openingMarginMs } from "../lib/timing.ts";
import type { CallRequest, Route } from "../calls/call-request.ts";
import { findHours, listRegions } from "./plan-hours.ts";
import type { DialPlan } from "./plan-schema.ts";
import type { RouteTable } from "./route-table.ts";
import { getOrMake } from "../lib/get-or-make.ts";
import type { Log } from "../lib/log.ts";
import { countryOf } from "../telephony/phone-number.ts";
import {
  allWeek,
  type CallHours,
  parseDay,
  type HoursRule,
  nextOpening,
  type Opening,
} from "../telephony/calling-hours.ts";
import type { FrequencyCap } from "../telephony/frequency-cap.ts";
import { type Zone, findZone } from "../telephony/time-zone.ts";
import { zonesOfCall } from "../telephony/zones-of-number.ts";

/** The dial plan's rules about the hours in which a call may be dialed, and the frequency caps of its number. */
export interface Schedule {
  /**
   * Finds the first time in [`from`, `until`) at which all rules for a call have been open for two seconds, with time
   * left for the provider to place it. Otherwise gives the reason: the rule's path in the plan; `no_time_zone` if
   * neither the call nor its number nor the plan gives a zone; `no_clock` after the end of the table of time zones.
   */
  opening(request: CallRequest, route: Route, time: { from: number; until: number }): Opening;
  /** Returns the rule by which a request sent now might ring outside the hours; undefined if it may leave. */
  closedBy(request: CallRequest, route: Route, now: number): string | undefined;
  /**
   * Returns the caps of a call. `isCounted`: the call counts for at least one cap of the plan, if only for another
   * agent's calls.
   */
  capsOf(request: CallRequest, route: Route): { caps: NamedCap[]; isCounted: boolean };
}

/** A cap with its rule's path in the plan, such as `countries.FR`. */
type NamedCap = FrequencyCap & { name: string };

/** A rule of the plan as applied: its hours, unless they are `always`, and its caps. */
interface Rule {
  hours?: HoursRule;
  caps: NamedCap[];
}

/** A region of the plan: the lengths of its prefixes, a test of whether it has a number, and its rule. */
interface Region {
  lengths: readonly number[];
  has(number: string): boolean;
  rule: Rule;
}

interface Window {
  from: number;
  until: number;
  marginMs: number;
}

/** Rules for calls of a set of hours to a destination, computed once, as most calls of a batch share them. */
interface Rules {
  hours: readonly HoursRule[];
  caps: NamedCap[];
  isCounted: boolean;
}

/** Creates the schedule of a plan. Logs once per zone if the table of time zones and the runtime differ. */
export function createSchedule(table: RouteTable, log: Log): Schedule {
  const { plan } = table;
  const rulesOf = createRules(plan);
  const openingFor = createOpenings({ plan, rulesOf, zonesNamed: createZones(log) });
  const timeoutMs = (route: Route) => table.account(route).timeoutSeconds * 1000;
  return {
    opening: (request, route, { from, until }) =>
      openingFor(request, route, { from, until, marginMs: timeoutMs(route) + closingMarginMs }),
    closedBy(request, route, now) {
      const window = { from: now, until: now + 1, marginMs: timeoutMs(route) };
      const opening = openingFor(request, route, window);
      return opening.at === undefined ? opening.closedBy : undefined;
    },
    capsOf(request, route) {
      const { caps, isCounted } = rulesOf(request, route);
      return { caps, isCounted };
    },
  };
}

type RulesOf = (request: CallRequest, route: Route) => Rules;

/** Returns a function that finds the rules of a call: those of its set of hours, its country and its regions. */
function createRules(plan: DialPlan): RulesOf {
  const { sets, countries, regions, everywhere } = planRules(plan);
  const create = (set: string, country: string, number: string): Rules => {
    const ofRegions = regions.filter(({ has }) => has(number)).map(({ rule }) => rule);
    const ofPosition = [everywhere, countries.get(country) ?? [], ofRegions].flat();
    // A resend keeps its first route, whose set of hours may be missing from today's plan. A missing set is never
    // open.
    const lost = { hours: { name: `callingHours.${set}`, weekly: [] }, caps: [] };
    const rules: Rule[] = [sets.get(set) ?? lost, ...ofPosition];
    return {
      hours: rules.flatMap(({ hours }) => hours ?? []),
      caps: rules.flatMap(({ caps }) => caps),
      isCounted: [...sets.values(), ...ofPosition].some(({ caps }) => caps.length > 0),
    };
  };
  /** Rules by the set's name, then by the regions of the number, then by its country. */
  const rulesBySet = new Map<string, Map<string, Map<string, Rules>>>();
  const regionsOf = createRegionWords(regions);
  const find = ({ phone_number }: CallRequest, route: Route): Rules => {
    const set = setNameOf(route);
    const country = countries.size === 0 ? "" : (countryOf(phone_number) ?? "");
    const byRegions = getOrMake(rulesBySet, set, () => new Map<string, Map<string, Rules>>());
    const byCountry = getOrMake(byRegions, regionsOf(phone_number), () => new Map<string, Rules>());
    return getOrMake(byCountry, country, () => create(set, country, phone_number));
  };
  /** The last result, cached because decisions on one call need its rules several times. */
  let last: { request: CallRequest; route: Route; rules: Rules } | undefined;
  return (request, route) => {
    if (last?.request !== request || last.route !== route) {
      last = { request, route, rules: find(request, route) };
    }
    return last.rules;
  };
}

/** Maximum beginnings of numbers whose regions are remembered. */
const beginningsMax = 10_000;

/** Returns a function that names the regions of a number by their indexes, such as ` 0 3`; empty if it is in none. */
function createRegionWords(regions: readonly Region[]): (number: string) => string {
  const characters = Math.max(0, ...regions.flatMap(({ lengths }) => lengths));
  if (characters === 0) return () => "";
  /** By what the regions look at. Most numbers begin like one before. */
  const byBeginning = new Map<string, string>();
  return (number) => {
    const beginning = number.slice(0, characters);
    let words = byBeginning.get(beginning);
    if (words === undefined) {
      words = regions.map(({ has }, index) => (has(beginning) ? ` ${index}` : "")).join("");
      if (byBeginning.size < beginningsMax) byBeginning.set(beginning, words);
    }
    return words;
  };
}

/** Returns the plan's rules by the calls to which they apply. */
function planRules(plan: DialPlan) {
  const sets = new Map(
    [...Object.keys(plan.callingHours), ...Object.values(plan.agents).map(setNameOf)].map(
      (name) => [name, createRule(`callingHours.${name}`, { callingHours: name }, plan)] as const,
    ),
  );
  const countries = new Map(
    Object.entries(plan.countries).map(([country, rule]) => [
      country,
      createRule(`countries.${country}`, rule, plan),
    ]),
  );
  const regions = listRegions(plan).map(([name, region]): Region => {
    const { callingHours } = region;
    const preset = callingHours === undefined ? undefined : findHours(callingHours, plan);
    // Beside a list of the region's own, a state's preset still holds for the whole state.
    const prefixes = new Set([...(preset?.prefixes ?? []), ...(region.prefixes ?? [])]);
    const lengths = [...new Set([...prefixes].map(({ length }) => length))];
    const has = (number: string) => lengths.some((length) => prefixes.has(number.slice(0, length)));
    return { lengths, has, rule: createRule(`regions.${name}`, region, plan) };
  });
  const everywhere = createRule("maxCalls", { maxCalls: plan.maxCalls }, plan);
  if (plan.blackoutDates.length > 0) {
    const days = new Set(plan.blackoutDates.map(parseDay));
    const closedOn = (day: number) => days.has(day);
    everywhere.hours = { name: "blackoutDates", weekly: allWeek, closedOn };
  }
  return { sets, countries, regions, everywhere };
}

function setNameOf({ callingHours = "default" }: Route): string {
  return callingHours;
}

/** Creates the rule at a path of the plan. */
function createRule(
  name: string,
  {
    callingHours,
    maxCalls,
  }: {
    callingHours?: Parameters<typeof findHours>[0] | undefined;
    maxCalls?: FrequencyCap | undefined;
  },
  plan: DialPlan,
): Rule {
  const set = callingHours === undefined ? undefined : findHours(callingHours, plan);
  return {
    ...(set === undefined ? {} : { hours: { name, ...set } }),
    caps: [maxCalls, set?.maxCalls].flatMap((cap) => cap ?? []).map((cap) => ({ ...cap, name })),
  };
}

/** Returns a function that finds zones by their names. It returns none of them if the runtime lacks one. */
function createZones(log: Log) {
  const reported = new Set<string>();
  return (names: readonly string[], at: number): Zone[] => {
    const zones = names.map(findZone).filter((zone) => zone !== undefined);
    if (zones.length < names.length) return []; // a zone unknown to this runtime is never open
    for (const { name, clocks } of zones) {
      const [first, second = first] = clocks;
      if (first(at)?.offsetMs === second(at)?.offsetMs || reported.has(name)) continue;
      reported.add(name);
      log("warning", "time_zone.disagreement", { time_zone: name });
    }
    return zones;
  };
}

interface OpeningDeps {
  plan: DialPlan;
  rulesOf: RulesOf;
  zonesNamed: ReturnType<typeof createZones>;
}

/** Returns a function that finds the opening of a call in a window. */
function createOpenings({ plan, rulesOf, zonesNamed }: OpeningDeps) {
  /** Openings in the last requested window, by the rules and by the zones of the callee. */
  let openings: Map<Rules, Map<string | readonly string[], Opening>> | undefined;
  /** The first opening in that window, as forecasts need one opening in each of many windows. */
  let first: { rules: Rules; zones: string | readonly string[]; opening: Opening } | undefined;
  let lastWindow: Window | undefined;
  return (request: CallRequest, route: Route, window: Window): Opening => {
    const rules = rulesOf(request, route);
    if (rules.hours.length === 0 && window.from < window.until) return { at: window.from };
    const zones = zonesOfCall(request);
    if (!isSame(window, lastWindow)) {
      lastWindow = window;
      [openings, first] = [undefined, undefined];
    }
    if (first?.rules === rules && first.zones === zones) return first.opening;
    const found = openings?.get(rules)?.get(zones);
    if (found !== undefined) return found;
    const candidates = typeof zones === "string" ? [zones] : zones;
    const names = candidates.length > 0 ? candidates : [plan.defaultTimeZone ?? ""];
    const hours = { rules: rules.hours, zones: zonesNamed(names, window.from) };
    const opening = openingIn(hours, window);
    if (first === undefined) first = { rules, zones, opening };
    else {
      openings ??= new Map();
      getOrMake(openings, rules, () => new Map()).set(zones, opening);
    }
    return opening;
  };
}

/** Finds the opening with its margin: the rules must also be open shortly before the returned time. */
function openingIn(hours: CallHours, { from, until, marginMs }: Window): Opening {
  const opening = nextOpening(hours, {
    from: from - openingMarginMs,
    until: until - openingMarginMs,
    marginMs: marginMs + openingMarginMs,
  });
  return opening.at === undefined ? opening : { ...opening, at: opening.at + openingMarginMs };
}

function isSame(one: Window, other: Window | undefined): boolean {
  return one.from === other?.from && one.until === other.until && one.marginMs === other.marginMs;
}
