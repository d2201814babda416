import { createNumberHasher } from "#shared/telephony/number-hashes.ts";
import * as fc from "fast-check";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import metadata from "libphonenumber-js/min/metadata";
import { describe, expect, it } from "vitest";
import {
  costlyServiceOf,
  countryOf,
  hasNumbers,
  isE164,
  mayAlsoBe,
} from "#shared/telephony/phone-number.ts";
import { formsOf, toCanonical } from "#shared/telephony/renumbered.ts";
import { perTier, inSlowTier } from "#test/support/per-tier.ts";

const callingCodes = [
  ...Object.keys(metadata.country_calling_codes),
  ...Object.keys(metadata.nonGeographic),
];

/** Returns the library's own answer, which knows no former forms of numbers. */
function byLibrary(original: string) {
  const text = toCanonical(original);
  const parsed = parsePhoneNumberFromString(text);
  const main = parsed && metadata.country_calling_codes[parsed.countryCallingCode]?.[0];
  return {
    isE164: /^\+[1-9]\d{6,14}$/.test(text) && parsed?.number === text && parsed.isPossible(),
    country: parsed?.country ?? main,
  };
}

const ours = (text: string) => ({ isE164: isE164(text), country: countryOf(text) });

describe("a number", () => {
  it("is read as libphonenumber-js reads it, whatever its digits", inSlowTier, () => {
    const digits = (least: number, most: number) =>
      fc.stringMatching(new RegExp(`^\\d{${least},${most}}$`));
    const number = fc
      .tuple(fc.oneof(fc.constantFrom(...callingCodes), digits(1, 3)), digits(4, 12))
      .map(([code, national]) => `+${code}${national}`);
    fc.assert(
      fc.property(number, (text) => {
        if (/^\+[1-9]\d{6,14}$/.test(text)) expect(ours(text)).toEqual(byLibrary(text));
        else expect(isE164(text)).toBe(false);
      }),
      { numRuns: perTier({ quick: 600, long: 10_000 }) },
    );
  });

  it(
    "is read so with every beginning of every calling code that several countries share",
    inSlowTier,
    () => {
      const shared = callingCodes.filter(
        (code) => (metadata.country_calling_codes[code]?.length ?? 0) > 1,
      );
      expect(shared.length).toBeGreaterThan(10);
      for (const code of shared) {
        for (let beginning = 0; beginning < 1000; beginning++) {
          for (const rest of ["2345678", "5550100", "000000", "71234567"]) {
            const text = `+${code}${String(beginning).padStart(3, "0")}${rest}`;
            if (text.length <= 16) expect(ours(text), text).toEqual(byLibrary(text));
          }
        }
      }
    },
  );

  it("may be of every country that the library knows, and of no other", inSlowTier, () => {
    for (const country of Object.keys(metadata.countries)) expect(hasNumbers(country)).toBe(true);
    expect(["UK", "001", ""].filter(hasNumbers)).toEqual([]);
  });

  it("reads back as another where it has a trunk prefix", () => {
    expect(isE164("+5305555555")).toBe(false);
    expect(isE164("+12025550123")).toBe(true);
    expect(isE164("+999123456789")).toBe(false);
    expect(countryOf("+18765550100")).toBe("JM");
    expect(countryOf("+14165550100")).toBe("CA");
    expect(countryOf("+18005550100")).toBe("US");
    expect(countryOf("+881612345678")).toBeUndefined();
  });
});

const hasher = createNumberHasher({ current: "a-hash-key-of-tests-that-is-long-enough" });

describe("the forms of a number", () => {
  it.each([
    ["+5215512345678", "+525512345678"],
    ["+525512345678", "+525512345678"],
    ["+12025550123", "+12025550123"],
    ["+5491123456789", "+5491123456789"],
  ])("%s is %s by today's plan", (form, canonical) => {
    expect(isE164(form)).toBe(true);
    expect(toCanonical(form)).toBe(canonical);
    expect(formsOf(form)[0]).toBe(canonical);
    expect(formsOf(form)).toEqual(formsOf(canonical));
  });

  it("share their hashes, that of the canonical form first", () => {
    const [former, today] = ["+5215512345678", "+525512345678"];
    expect(hasher.own(former)).toEqual(hasher.own(today));
    expect(new Set(hasher.own(today)).size).toBe(2);
  });

  it.each([
    ["+5511987654321", ["+551187654321"]],
    ["+551187654321", ["+5511987654321"]],
    ["+551133334444", []], // a landline: 2 to 5 after the area code
    ["+5511933334444", []],
    ["+5491155551234", ["+541155551234"]],
    ["+541155551234", ["+5491155551234"]],
    ["+542211234567", ["+5492211234567"]],
    ["+5455551234", []],
    ["+970599123456", ["+972599123456"]],
    ["+972562123456", ["+970562123456"]],
    ["+97022987654", ["+97222987654"]],
    ["+972522123456", []],
    ["+97225312345", []],
    ["+390549886377", ["+3780549886377"]],
    ["+3780549886377", ["+390549886377"]],
    ["+37866661212", []],
    ["+390541123456", []],
    ["+12025550123", []],
  ])("%s may also be %j, which lists and caps are asked about alone", (number, others) => {
    expect(mayAlsoBe(number)).toEqual(others);
    const { own, asked } = hasher.all(number);
    expect(own).toEqual(hasher.own(number));
    expect(new Set(asked)).toEqual(new Set([number, ...others].flatMap((one) => hasher.own(one))));
  });
});

describe("the length of a number", () => {
  it.each(["+1202555012", "+12025550123456", "+120255501", "+4420718387500000", "+525512345"])(
    "refuses %s",
    (number) => expect(isE164(number)).toBe(false),
  );

  it.each(["+12025550123", "+493012345", "+4930123456789", "+43512345", "+5491123456789"])(
    "takes %s",
    (number) => expect(isE164(number)).toBe(true),
  );
});

describe("a costly service", () => {
  it.each([
    ["+870773123456", "satellite"],
    ["+881612345678", "satellite"],
    ["+80012345678", "international"],
    ["+979123456789", "international"],
    ["+19005550123", "premium"],
    ["+449098790123", "premium"],
    ["+33899123456", "premium"],
    ["+499001234567", "premium"],
    ["+39899123456", "premium"],
    ["+442071838750", undefined],
    ["+18005550123", undefined],
    ["+12025550123", undefined],
  ])("of %s is %s", (number, service) => expect(costlyServiceOf(number)).toBe(service));
});
