import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createRequestId, timeOfId } from "../../shared/calls/ids.ts";

const base32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

it("gives a request an id of 48 bits of time, and the 80 random bits of a UUID", () => {
  const now = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  fc.assert(
    fc.property(now, fc.uuid({ version: 4 }), (at, uuid) => {
      const hex = uuid.replaceAll("-", "");
      const id = createRequestId(at, hex);
      const bits = id
        .split("")
        .reduce((sum, digit) => sum * 32n + BigInt(base32.indexOf(digit)), 0n);
      expect([id.length, timeOfId(id)]).toEqual([26, at]);
      expect(bits).toBe((BigInt(at) << 80n) | BigInt(`0x${hex.slice(0, 5)}${hex.slice(17)}`));
    }),
  );
});
