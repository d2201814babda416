import { describe, expect, it } from "vitest";
import { createRequestId, withCalls } from "../../../shared/calls/ids.ts";
import { isIssued, tagRandom } from "../../../shared/calls/issued-ids.ts";
import { randomId } from "../../../shared/lib/random.ts";

const key = "5f".repeat(32);
const other = "6a".repeat(32);
const issue = (at = Date.now()) => createRequestId(at, tagRandom(randomId(), key));

describe("the id of a request", () => {
  it("proves that it was issued, whatever its time and its calls, under either key", () => {
    for (let n = 0; n < 500; n++) {
      const id = withCalls(issue(n * 1e9), n * 7);
      expect(isIssued(id, { current: key })).toBe(true);
      expect(isIssued(id, { current: other, former: key })).toBe(true);
      expect(isIssued(id, { current: other })).toBe(false);
    }
  });

  it("proves that it was not, where it is made up or changed", () => {
    for (let n = 0; n < 500; n++) {
      expect(isIssued(createRequestId(Date.now(), randomId()), { current: key })).toBe(false);
    }
    const id = issue();
    for (let at = 10; at < 22; at++) {
      const changed = id.slice(0, at) + (id[at] === "0" ? "1" : "0") + id.slice(at + 1);
      expect(isIssued(changed, { current: key })).toBe(false);
    }
  });

  it("is still unlike any other", () => {
    const ids = Array.from({ length: 2_000 }, () => issue(5));
    expect(new Set(ids).size).toBe(2_000);
  });
});
