import * as fc from "fast-check";
import permitAt from "moment-timezone";
import packed from "moment-timezone/data/packed/latest.json" with { type: "json" };
import { describe, expect, it } from "vitest";
import table from "#shared/telephony/time-zones.json" with { type: "json" };
import { dayMs, minuteMs, opening, searchedMs, type Written } from "#test/support/calling-hours.ts";
import { localTime } from "#test/support/local-time.ts";
import { firstOf } from "#test/support/first-of.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

permitAt.tz.load(packed);

const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const isIn = (range: string, day: number) => {
  const [first = "", last = first] = range.split("-");
  for (let one = weekdays.indexOf(first); ; one = (one + 1) % 7) {
    if (one === day) return true;
    if (weekdays[one] === last) return false;
  }
};

/** Returns true if a rule is open at a local minute, by comparing text, without arithmetic of ours. */
function isOpenAt({ hours, dates }: Written, local: string): boolean {
  const [date = "", time = ""] = local.split("T");
  if (dates.includes(date)) return false;
  const today = (new Date(`${date}T00:00Z`).getUTCDay() + 6) % 7;
  return Object.entries(hours).some(([range, texts]) =>
    texts.some((text) => {
      const [start = "", end = ""] = text.split("-");
      if (end > start) return isIn(range, today) && start <= time && time < end;
      return (isIn(range, today) && start <= time) || (isIn(range, (today + 6) % 7) && time < end);
    }),
  );
}

/** Returns the local time of each source separately. */
function sourcesOf(name: string): ((at: number) => string)[] {
  const zone = permitAt.tz.zone(name);
  return [
    (at) => new Date(at - (zone?.utcOffset(at) ?? 0) * minuteMs).toISOString().slice(0, 16),
    localTime(name),
  ];
}

/** Finds the first open minute by checking every one. */
function bruteForce(written: Written[], names: string[], from: number, marginMs: number) {
  const sources = names.flatMap(sourcesOf);
  const openAt = (at: number) =>
    sources.every((local) => written.every((one) => isOpenAt(one, local(at))));
  let since = from;
  for (let at = from; ; at += minuteMs) {
    if (since >= from + searchedMs) return undefined;
    if (!openAt(at)) since = at + minuteMs;
    else if (at + minuteMs - since >= marginMs) return since;
  }
}

/** Finds, minute by minute, the rule that is closed first, and of several the one that stays closed longest. */
function bruteBlame(written: Written[], names: string[], from: number): string | undefined {
  const sources = names.flatMap(sourcesOf);
  const isClosed = (one: Written, at: number) => sources.some((local) => !isOpenAt(one, local(at)));
  let left: [number, Written][] = [];
  for (let at = from; at < from + searchedMs; at += minuteMs) {
    const among = left.length === 0 ? [...written.entries()] : left;
    const closed = among.filter(([, one]) => isClosed(one, at));
    if (closed.length === 0 && left.length > 0) break;
    left = closed;
    if (left.length === 1) break;
  }
  return left[0] && `rule ${left[0][0]}`;
}

const clock = fc.nat({ max: 24 * 12 - 1 }).map((five) => {
  const minutes = five * 5;
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
});
/** Minutes from a time to another time of the next day. */
const minutesFrom = (start: string, end: string) =>
  (Date.parse(`2026-01-02T${end}Z`) - Date.parse(`2026-01-01T${start}Z`)) / minuteMs;
const interval = fc
  .tuple(clock, fc.oneof(clock, fc.constant("24:00")))
  .filter(([start, end]) => start !== end && (end > start || minutesFrom(start, end) <= 12 * 60))
  .map(([start, end]) => `${start}-${end}`);
const intervals = fc.array(interval, { minLength: 0, maxLength: 3 });
const weekly = fc
  .oneof(
    fc.record({ "mon-sun": intervals }),
    fc.record({ "mon-fri": intervals, "sat-sun": intervals }),
    fc.record({ "sat-mon": intervals, wed: intervals }),
    fc.record({ tue: intervals }),
  )
  .filter((hours) => Object.values(hours).flat().length > 0);
const daysAfter = (from: number) =>
  fc.array(
    fc.nat({ max: 12 }).map((day) => new Date(from + (day - 1) * dayMs).toISOString().slice(0, 10)),
    { maxLength: 4 },
  );
const rulesFrom = (from: number) =>
  fc.array(fc.record({ hours: weekly, dates: daysAfter(from) }), { minLength: 1, maxLength: 3 });
const marginMs = fc.constantFrom(0, 5 * minuteMs, 45 * minuteMs);

const names = Object.values(table.names).flatMap((list) => list.split(" "));
/** Changes of clocks in 2026 and 2027, and one of the zones whose clock changes in that way. */
const changes = new Map(
  names.flatMap((name) => {
    const { untils = [], offsets = [] } = permitAt.tz.zone(name) ?? {};
    return untils
      .map((at, index) => ({ name, at, offsets: offsets.slice(index, index + 2) }))
      .filter(({ at }) => at > Date.UTC(2026, 0, 12) && at < Date.UTC(2028, 0, 1))
      .map((change) => [`${change.at} ${change.offsets.join(" to ")}`, change] as const);
  }),
);

function agrees(rules: Written[], zoneNames: string[], from: number, margin: number): void {
  const expected = bruteForce(rules, zoneNames, from, margin);
  const found = opening(rules, zoneNames, from, { marginMs: margin });
  expect({ rules, zoneNames, from, margin, at: found.at }).toEqual({
    rules,
    zoneNames,
    from,
    margin,
    at: expected,
  });
  expect(found.closedBy === undefined).toBe(expected === from);
  if (found.closedBy === undefined) return;
  const blamed = bruteBlame(rules, zoneNames, from);
  expect({ rules, zoneNames, from, blamed: found.closedBy }).toEqual({
    rules,
    zoneNames,
    from,
    blamed,
  });
}

describe("the next opening", () => {
  it(
    "equals a search through every minute of ten days, for any plan, zones and time",
    inSlowTier,
    () => {
      const time = fc
        .integer({ min: Date.UTC(2026, 0, 12), max: Date.UTC(2036, 11, 1) })
        .map((at) => at - (at % minuteMs));
      const zoneNames = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 });
      const cases = time.chain((from) => fc.tuple(rulesFrom(from), zoneNames, fc.constant(from)));
      fc.assert(
        fc.property(cases, marginMs, ([rules, zoneNames_, from], margin) =>
          agrees(rules, zoneNames_, from, margin),
        ),
        { numRuns: perTier({ quick: 8, long: 30 }) },
      );
    },
  );

  it("equals that search around every change of a clock in 2026 and 2027", inSlowTier, () => {
    expect(changes.size).toBeGreaterThan(70);
    const seed = Date.now();
    for (const [index, { name, at }] of [...changes.values()].entries()) {
      const around = firstOf(
        fc.sample(
          fc.tuple(rulesFrom(at - dayMs), fc.integer({ min: -36 * 60, max: 3 * 60 }), marginMs),
          { seed: seed + index, numRuns: 1 },
        ),
      );
      const [rules, minutes, margin] = around;
      agrees(rules, [name], at + minutes * minuteMs, margin);
    }
  });

  it("never comes earlier for a later time, and stays until it has come", () => {
    const time = fc.integer({ min: Date.UTC(2026, 0, 12), max: Date.UTC(2030, 0, 1) });
    const cases = time.chain((from) => fc.tuple(rulesFrom(from), fc.constant(from)));
    fc.assert(
      fc.property(
        cases,
        fc.constantFrom(...names),
        fc.nat({ max: 5 * dayMs }),
        ([rules, from], name, preliminaryMs) => {
          const until = from + 20 * dayMs;
          const first = opening(rules, [name], from, { until }).at ?? until;
          const later = opening(rules, [name], from + preliminaryMs, { until }).at ?? until;
          expect(later).toBeGreaterThanOrEqual(first);
          if (from + preliminaryMs <= first) expect(later).toBe(first);
        },
      ),
      { numRuns: perTier({ quick: 8, long: 100 }) },
    );
  });
});
