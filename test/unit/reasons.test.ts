import { describe, expect, it } from "vitest";
import { meaningOf, reasons } from "../../shared/calls/reasons.ts";

describe("the meaning of a reason", () => {
  it("is one sentence for each, in the order of their names", () => {
    for (const sentence of Object.values(reasons)) expect(sentence).toMatch(/^[A-Z][^.]*\.$/);
    expect(Object.keys(reasons)).toEqual(Object.keys(reasons).toSorted());
  });

  it("is found for a rule's hours, and not for a provider's code", () => {
    expect(meaningOf("hours:countries.FR")).toBe(reasons.hours);
    expect(meaningOf("do_not_call")).toBe(reasons.do_not_call);
    expect(meaningOf("http_429")).toBeUndefined();
    expect(meaningOf("constructor")).toBeUndefined();
  });
});
