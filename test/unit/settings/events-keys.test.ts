import { expect, it } from "vitest";
import { eventsKeyAfter, isEventsKey, readEventsKeys } from "#shared/settings/events-keys.ts";

const [one, other, third] = ["a".repeat(64), "b".repeat(64), "c".repeat(64)] as const;

it("reads the key of the highest number as the current one, and the one before it as the former", () => {
  expect(readEventsKeys({ EVENTS_KEY: one })).toEqual({ current: one });
  expect(readEventsKeys({ EVENTS_KEY: one, EVENTS_KEY_2: other })).toEqual({
    current: other,
    former: one,
  });
  expect(readEventsKeys({ EVENTS_KEY_10: one, EVENTS_KEY_9: other, EVENTS_KEY_2: third })).toEqual({
    current: one,
    former: other,
  });
  expect(readEventsKeys({ EVENTS_KEY: "", EVENTS_KEY_3: other.toUpperCase() })).toEqual({
    current: other,
  });
});

it("names the next secret after each", () => {
  expect([undefined, "EVENTS_KEY", "EVENTS_KEY_2", "EVENTS_KEY_10"].map(eventsKeyAfter)).toEqual([
    "EVENTS_KEY",
    "EVENTS_KEY_2",
    "EVENTS_KEY_3",
    "EVENTS_KEY_11",
  ]);
});

it("takes no other secret for one of them, such as those of the plan's receivers", () => {
  const others = [
    "EVENTS_SECRET",
    "EVENTS_KEY_SECRET",
    "EVENTS_KEY_",
    "EVENTS_KEY_0",
    "MY_EVENTS_KEY",
  ];
  expect(others.filter(isEventsKey)).toEqual([]);
});

it("refuses none, one that is malformed, and two in one secret", () => {
  expect(() => readEventsKeys({ EVENTS_SECRET: one })).toThrow(/EVENTS_KEY is not set/);
  expect(() => readEventsKeys({ EVENTS_KEY: one, EVENTS_KEY_2: "ab" })).toThrow(
    /^EVENTS_KEY_2 must/,
  );
  expect(() => readEventsKeys({ EVENTS_KEY: `${one} ${other}` })).toThrow(/holds one key/);
});
