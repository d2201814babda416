import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  acceptSpanIdOf,
  chooseTraceparent,
  parseTraceparent,
  type SpanStep,
  toSpanId,
  toTraceparent,
} from "#shared/traces/trace-context.ts";
import { aRequestId } from "#test/support/calls.ts";
import { perTier } from "#test/support/per-tier.ts";

const own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
const ids = fc.tuple(hex(32), hex(16)).filter((some) => some.every((id) => !/^0*$/.test(id)));

describe("a traceparent", () => {
  it("is read by its parts", () => {
    expect(parseTraceparent(own)).toEqual({
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      parentId: "00f067aa0ba902b7",
      isSampled: true,
    });
  });

  it.each([
    ["absent", undefined],
    ["empty", ""],
    ["of another version", own.replace(/^00/, "01")],
    ["of the forbidden version", own.replace(/^00/, "ff")],
    ["with a trace id of zeros", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`],
    ["with a parent id of zeros", `00-4bf92f3577b34da6a3ce929d0e0e4736-${"0".repeat(16)}-01`],
    ["in capitals", own.toUpperCase()],
    ["longer", `${own}-00`],
    ["shorter", own.slice(0, -1)],
    ["with a space", ` ${own}`],
    ["with a line's end", `${own}\n`],
    ["sent twice", `${own}, ${own}`],
    ["endless", own.repeat(100_000)],
    ["with other digits", own.replace("4bf9", "４bf9")],
  ])("is ignored if it is %s", (_how, text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  it("knows of its flags only whether it is sampled", () => {
    fc.assert(
      fc.property(ids, fc.nat(255), ([traceId, parentId], flags) => {
        const text = `00-${traceId}-${parentId}-${flags.toString(16).padStart(2, "0")}`;
        const isSampled = flags % 2 === 1;
        expect(parseTraceparent(text)).toEqual({ traceId, parentId, isSampled });
        expect(toTraceparent({ traceId, parentId, isSampled }).slice(0, -2)).toBe(
          text.slice(0, -2),
        );
      }),
    );
  });

  it("is never read from a text of another form", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60, unit: "binary" }), (text) => {
        const read = parseTraceparent(text);
        if (read !== undefined) expect(toTraceparent(read).slice(0, 53)).toBe(text.slice(0, 53));
      }),
      { numRuns: perTier({ quick: 20, long: 200 }) },
    );
  });
});

describe("the trace of a request", () => {
  const share = fc.double({ min: 0.001, max: 1, noNaN: true });
  const requests = fc.nat(2 ** 40).map((at) => aRequestId(at));

  it("is the caller's, and sampled only if the caller says so", () => {
    fc.assert(
      fc.property(
        ids,
        fc.boolean(),
        requests,
        share,
        ([traceId, parentId], isSampled, id, part) => {
          const header = toTraceparent({ traceId, parentId, isSampled });
          const chosen = parseTraceparent(
            chooseTraceparent(header, { requestId: id, share: part }),
          );
          expect(chosen).toMatchObject({ traceId, parentId });
          expect(chosen?.isSampled === true && !isSampled).toBe(false);
        },
      ),
    );
  });

  it("is sampled by a draw that no trace id changes", () => {
    fc.assert(
      fc.property(ids, ids, requests, share, (one, other, requestId, part) => {
        const isSampledAs = ([traceId, parentId]: [string, string]) => {
          const header = toTraceparent({ traceId, parentId, isSampled: true });
          return parseTraceparent(chooseTraceparent(header, { requestId, share: part }))?.isSampled;
        };
        const drawn = isSampledAs(one);
        expect(isSampledAs(other)).toBe(drawn);
        // Without a header, the same requests have a trace.
        expect(chooseTraceparent(undefined, { requestId, share: part }) !== undefined).toBe(drawn);
      }),
    );
  });

  it("is sampled for about the share of requests, and for all of them at 1", () => {
    const some = Array.from({ length: 4_000 }, (_, at) => aRequestId(at));
    const countAt = (part: number) =>
      some.filter((requestId) => chooseTraceparent(undefined, { requestId, share: part })).length;
    expect(countAt(1)).toBe(4_000);
    // Six standard deviations.
    expect(Math.abs(countAt(0.1) - 400)).toBeLessThan(114);
  });

  it("is its own without a right header, and begins with the acceptance", () => {
    const requestId = aRequestId();
    const chosen = chooseTraceparent("odd", { requestId, share: 1 });
    expect(parseTraceparent(chosen)).toEqual({
      traceId: expect.stringMatching(/^[\da-f]{32}$/),
      parentId: acceptSpanIdOf(requestId),
      isSampled: true,
    });
    expect(chooseTraceparent(undefined, { requestId, share: 1 })).toBe(chosen);
    const another = chooseTraceparent(undefined, { requestId: aRequestId(), share: 1 });
    expect(another?.slice(0, 35)).not.toBe(chosen?.slice(0, 35));
  });
});

describe("the id of a span", () => {
  it("is the same for the same step, and another for any other", () => {
    const steps = fc.constantFrom<SpanStep>("accept", "wait", "dial", "settle", "deliver");
    const of = fc.tuple(steps, fc.array(fc.string(), { maxLength: 3 }));
    fc.assert(
      fc.property(of, of, (one, other) => {
        const id = toSpanId(one[0], ...one[1]);
        expect(id).toMatch(/^[\da-f]{16}$/);
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        expect(toSpanId(other[0], ...other[1]) === id).toBe(isSame);
      }),
    );
  });
});
