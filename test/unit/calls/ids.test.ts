import * as fc from "fast-check";
import { expect, it } from "vitest";
import { callsIn, createRequestId, timeOfId, withCalls } from "#shared/calls/ids.ts";

const base32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

it("gives a request an id of 48 bits of time, 65 random bits of a UUID, and the number of its calls", () => {
  const now = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  const calls = fc.integer({ min: 0, max: 10_000 });
  fc.assert(
    fc.property(now, fc.uuid({ version: 4 }), calls, (at, uuid, count) => {
      const hex = uuid.replaceAll("-", "");
      const plain = createRequestId(at, hex);
      const id = withCalls(plain, count);
      const bits = id
        .split("")
        .reduce((sum, digit) => sum * 32n + BigInt(base32.indexOf(digit)), 0n);
      const random = BigInt(`0x${hex.slice(0, 5)}${hex.slice(17)}`) >> 15n;
      expect([id.length, timeOfId(id), callsIn(id), callsIn(plain)]).toEqual([26, at, count, 0]);
      expect(bits).toBe((BigInt(at) << 80n) | (random << 15n) | BigInt(count));
    }),
  );
});
