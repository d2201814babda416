import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { hmacUnder } from "#shared/lib/hmac.ts";

it("is the HMAC-SHA256 of any text, under any key of one block", () => {
  const key = fc
    .array(fc.nat({ max: 127 }), { maxLength: 64 })
    .map((codes) => String.fromCharCode(...codes));
  const text = fc
    .array(fc.nat({ max: 0x10ffff }), { maxLength: 100 })
    .map((points) => String.fromCodePoint(...points));
  fc.assert(
    fc.property(key, text, (under, one) => {
      const expected = createHmac("sha256", under).update(one).digest("base64url");
      expect(hmacUnder(under)(one)).toBe(expected);
    }),
  );
});

it.each(["x".repeat(65), "é"])("refuses the key %s", (key) => {
  expect(() => hmacUnder(key)).toThrow("the key is no ASCII text of one block");
});
