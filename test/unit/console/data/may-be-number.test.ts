import { expect, it } from "vitest";
import { mayBeNumber } from "#functions/console/data/may-be-number.ts";

it.each(["0151 23456789", "(0)20 7946 0018", "555-0143 22", "+49 (0) 151/234567", "2025550143"])(
  "keeps %s out of addresses",
  (text) => expect(mayBeNumber(text)).toBe(true),
);

it.each(["CA0123456789abcdef0123456789abcdef", "12345", "call-20261124-001", "spring"])(
  "takes %s for an id",
  (text) => expect(mayBeNumber(text)).toBe(false),
);
