import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { assert, dictionary as record, jsonValue, property, string } from "fast-check";
import { expect, it } from "vitest";
import { dictionaries, pack, unpack } from "#shared/ports/packed.ts";

/** Hashes of the dictionaries by their numbers. A line may be added, and none be changed: rows were packed with each. */
const hashes = {
  1: "0c9a3d8a6f5024b6ed8d28b614ad771c9655516c2907c39868439494d2978e33",
};

it("has the dictionaries that rows were packed with, byte by byte", () => {
  const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  const found = [...dictionaries].map(([number, bytes]) => [number, hashOf(bytes)]);
  expect(Object.fromEntries(found)).toEqual(hashes);
});

it("unpacks what it has packed", () => {
  assert(
    property(record(string(), jsonValue()), (value) => {
      expect(unpack(pack(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it("keeps an own key __proto__", () => {
  const value: object = JSON.parse('{"__proto__":"Ada"}');
  expect(JSON.stringify(unpack(pack(value)))).toBe('{"__proto__":"Ada"}');
});

const packed = Buffer.from(pack({ reason: "placed", attempt: 1 }));
const [, dictionary] = [...dictionaries][0] ?? [];
const deflated = (text: string) =>
  Buffer.concat([packed.subarray(0, 1), deflateRawSync(text, { dictionary })]);

it.each([
  ["a later dictionary", Buffer.concat([Uint8Array.of(dictionaries.size + 1), packed.subarray(1)])],
  ["no dictionary", Buffer.concat([Uint8Array.of(0), packed.subarray(1)])],
  ["no bytes", Buffer.of()],
  ["half of the bytes", packed.subarray(0, packed.length / 2)],
  ["bytes that are not deflated", Buffer.concat([packed.subarray(0, 1), Buffer.from("{}")])],
  ["no JSON", deflated("{")],
  ["no object", deflated("1")],
])("unpacks nothing of %s", (_, bytes) => {
  expect(unpack(bytes)).toBeUndefined();
});
