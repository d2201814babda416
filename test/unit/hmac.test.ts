import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { hmacUnder } from "../../shared/platform/hmac.ts";

const ascii = fc.integer({ min: 0, max: 127 }).map((code) => String.fromCharCode(code));

it("is the HMAC-SHA256 of any text, under any key of one block", () => {
  const key = fc.string({ unit: ascii, maxLength: 64 });
  const text = fc.string({ unit: "binary", maxLength: 200 });
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
