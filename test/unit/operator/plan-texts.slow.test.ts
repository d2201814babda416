import * as fc from "fast-check";
import { costlyServices } from "#shared/telephony/phone-number.ts";
import { describe, expect, it } from "vitest";
import {
  capsText,
  destinationsText,
  hoursText,
  paceText,
  weeklyText,
} from "#functions/operator/plan-texts.ts";
import { parseDialPlan } from "#test/support/plans.ts";
import { weeklyHoursSchema } from "#shared/telephony/calling-hours.ts";
import { testPlan } from "#test/support/environment.ts";

const dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const minuteMs = 60_000;
const weekMinutes = 7 * 24 * 60;
const plan = parseDialPlan(testPlan, {});

/** Returns the minutes of the week that a text says are open, Monday 0:00 being 0. */
function openMinutesIn(text: string): Set<number> {
  const open = new Set<number>();
  if (text === "at any time") return new Set(Array.from({ length: weekMinutes }, (_, n) => n));
  for (const part of text.split(", ")) {
    const [, days = "", hours = ""] =
      /^(every day|[A-Z]\w\w(?:–[A-Z]\w\w)?) (.*)$/.exec(part) ?? [];
    const [first = 0, last = first] =
      days === "every day" ? [0, 6] : days.split("–").map((name) => dayNames.indexOf(name));
    for (const span of hours.split(" and ")) {
      const [start = 0, end = 0] = span.split("–").map((clock) => {
        const [hour = 0, minute = 0] = clock.split(":").map(Number);
        return hour * 60 + minute;
      });
      for (let day = first; day <= last; day++) {
        const length = end > start ? end - start : end + 24 * 60 - start;
        for (let n = 0; n < length; n++) open.add((day * 24 * 60 + start + n) % weekMinutes);
      }
    }
  }
  return open;
}

describe("the plan in words", () => {
  it("says exactly the hours of any week", () => {
    const clock = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }));
    const text = ([hour, minute]: [number, number]) =>
      `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
    const interval = fc.tuple(clock, clock).map(([start, end]) => `${text(start)}-${text(end)}`);
    const week = fc
      .dictionary(
        fc.constantFrom(...dayNames.map((name) => name.toLowerCase())),
        fc.array(interval),
        {
          minKeys: 1,
        },
      )
      .map((hours) => weeklyHoursSchema.safeParse(hours).data)
      .filter((weekly) => weekly !== undefined);
    fc.assert(
      fc.property(week, (weekly) => {
        const open = new Set<number>();
        for (const { start, end } of weekly) {
          for (let at = start; at < end; at += minuteMs) open.add(at / minuteMs);
        }
        const said = openMinutesIn(weeklyText(weekly));
        expect([...said].toSorted((a, b) => a - b)).toEqual([...open].toSorted((a, b) => a - b));
      }),
    );
  });

  it.each([
    ["us-federal", "every day 8:00–21:00 in the callee's zone"],
    ["canada", "Mon–Fri 9:00–21:30, Sat–Sun 10:00–18:00 in the callee's zone"],
    ["france", "Mon–Fri 10:00–13:00 and 14:00–20:00 in the callee's zone, not on public holidays"],
    ["always", "at any time"],
  ])("says the hours of %s", (name, text) => {
    expect(hoursText(name, plan)).toBe(text);
  });

  it("says caps, rates and destinations", () => {
    expect(capsText("france", undefined, plan)).toBe("4 calls in 30 days");
    expect(capsText("us-florida", { count: 1, days: 0.5 }, plan)).toBe(
      "1 call in 12 hours, and 3 calls in 24 hours",
    );
    expect(capsText("canada", undefined, plan)).toBeUndefined();
    expect(paceText(20, 5)).toBe("20 calls a second, 5 at once after a pause");
    expect(paceText(1, 1)).toBe("1 call a second");
    expect(paceText(0.1, 1)).toBe("1 call in 10 s");
    expect(
      destinationsText({
        ...plan,
        destinations: { allow: ["*"], deny: [], allowServices: [...costlyServices] },
      }),
    ).toBe("everywhere");
  });
});
