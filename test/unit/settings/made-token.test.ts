import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { strictest } from "#shared/dial-plan/guards.ts";
import { createTokenMaker, hasHash } from "#shared/settings/made-token.ts";
import { nameOfKey } from "#shared/lib/rotated-keys.ts";

const [current, former] = ["5f".repeat(32), "7e".repeat(32)];

describe("tokens that operators make", () => {
  it("are known by both keys of a rotation, and made under the current one", () => {
    const [before, during, after] = [
      createTokenMaker({ hashKeys: { current: former } }),
      createTokenMaker({ hashKeys: { current, former } }),
      createTokenMaker({ hashKeys: { current } }),
    ];
    const old = before.make();
    const fresh = during.make();
    expect([old.keyName, fresh.keyName]).toEqual([nameOfKey(former), nameOfKey(current)]);
    expect([before, during, after].map((one) => one.readId(old.token) === old.id)).toEqual([
      true,
      true,
      false,
    ]);
    expect([before, during, after].map((one) => one.readId(fresh.token) === fresh.id)).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("are no other's if a character differs, is missing or is added", () => {
    const maker = createTokenMaker({ hashKeys: { current } });
    const { token } = maker.make();
    const character = fc.constantFrom("0", "1", "9", "A", "Z", "a", "z", "_", "-", "\n");
    fc.assert(
      fc.property(fc.nat({ max: token.length }), character, fc.nat({ max: 2 }), (at, one, cut) => {
        const other = token.slice(0, at) + one + token.slice(at + cut);
        expect(maker.readId(other) !== undefined).toBe(other === token);
      }),
    );
  });

  it("are known by their hash alone", () => {
    const { token, sha256 } = createTokenMaker({ hashKeys: { current } }).make();
    expect(sha256).toBe(createHash("sha256").update(token).digest("hex"));
    expect([hasHash(token, sha256), hasHash(`${token}x`, sha256), hasHash(token, "")]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

it("takes the lower of two limits, each by itself", () => {
  expect(strictest(undefined, undefined)).toBeUndefined();
  expect(strictest({ waiting: 3 }, undefined)).toEqual({ waiting: 3 });
  expect(strictest({ callsPerDay: 5, waiting: 9 }, { callsPerDay: 7, waiting: 2 })).toEqual({
    callsPerDay: 5,
    waiting: 2,
  });
  expect(strictest({ callsPerDay: 5 }, { waiting: 2 })).toEqual({ callsPerDay: 5, waiting: 2 });
});
