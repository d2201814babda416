import { expect, it } from "vitest";
import { bytes, text } from "#shared/aws/dynamodb-items.ts";
import { toItem, toRow } from "#shared/aws/dynamodb-rows.ts";
import { aRow, suiteNow } from "#test/support/call-rows.ts";

const row = aRow({ numberHash: "ab".repeat(32) });
const item = toItem(row, suiteNow);

it("reads the row that an item was made of", () => {
  expect(toRow(item)).toEqual(row);
});

it.each([
  ["nothing", undefined],
  ["no bytes", bytes(new Uint8Array())],
  ["half of its bytes", bytes(item["row"]?.B?.subarray(0, 40) ?? new Uint8Array())],
  ["text", text("{}")],
])(
  "says of a row of %s that it is unreadable, so that others of its read are not lost",
  (_, stored) => {
    const { row: __, ...others } = item;
    expect(toRow(stored === undefined ? others : { ...others, row: stored })).toBeUndefined();
  },
);
