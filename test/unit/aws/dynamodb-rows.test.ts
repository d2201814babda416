import { deflateRawSync, inflateRawSync } from "node:zlib";
import { expect, it } from "vitest";
import { bytes, type Item, text } from "../../../shared/aws/dynamodb-items.ts";
import { toItem, toRow } from "../../../shared/aws/dynamodb-rows.ts";
import { aRow, suiteNow } from "../../support/call-rows.ts";

const row = aRow({ numberHash: "ab".repeat(32) });
const item = toItem(row, suiteNow);
const jsonOf = ({ row: stored }: Item) => inflateRawSync(stored?.B ?? "").toString();

it("reads a row that was written before rows were deflated", () => {
  expect(toRow({ ...item, row: text(jsonOf(item)) })).toEqual(row);
});

it.each([
  ["nothing", undefined],
  ["no bytes", bytes(new Uint8Array())],
  ["bytes that are not deflated", bytes(Buffer.from(jsonOf(item)))],
  ["half of its bytes", bytes(item["row"]?.B?.subarray(0, 40) ?? new Uint8Array())],
  ["no JSON, deflated", bytes(deflateRawSync("{"))],
  ["text that is no JSON", text("{")],
])(
  "says of a row of %s that it is unreadable, so that others of its read are not lost",
  (_, stored) => {
    const { row: __, ...others } = item;
    expect(toRow(stored === undefined ? others : { ...others, row: stored })).toBeUndefined();
  },
);
