import { describe, expect, it } from "vitest";
import { readTypedNumber } from "../../../shared/telephony/typed-number.ts";

describe("a number as people type it", () => {
  it.each([
    ["+12025550123", "+12025550123"],
    [" +1 (202) 555-0123 ", "+12025550123"],
    ["+1.202.555.0123", "+12025550123"],
    ["0044 20 7946 0018", "+442079460018"],
    ["+44 (0)20 7946 0018", "+442079460018"],
    ["[+49] 30/23125-000", "+493023125000"],
    ["+49\u00a030\u2013231250", "+4930231250"],
    ["tel:+12025550123", "+12025550123"],
    ["12025550123", "+12025550123"],
  ])("%j is %s", (text, number) => {
    expect(readTypedNumber(text)).toBe(number);
  });

  it.each(["", "030 23125000", "(0)30 23125000", "+1202555012x", "+123", "crm", "+5305555555"])(
    "%j is none",
    (text) => {
      expect(readTypedNumber(text)).toBeUndefined();
    },
  );
});
