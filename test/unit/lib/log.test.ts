import { describe, expect, it } from "vitest";
import { errorForLog } from "#shared/lib/log.ts";

describe("an error in the log", () => {
  it("has its class, and the function and place where it was thrown", () => {
    function parseSecret(): never {
      throw new TypeError("+12025550123 is no number");
    }
    let said: string | undefined;
    try {
      parseSecret();
    } catch (error) {
      said = errorForLog(error);
    }
    expect(said).toMatch(/^TypeError in parseSecret \([\w.-]+:\d+:\d+\)$/);
  });

  it.each([
    ["at x (file:///b/index.mjs:1:2)", "RangeError in x (index.mjs:1:2)"],
    ["at async Object.put (chunk-A1.mjs:3:45)", "RangeError in Object.put (chunk-A1.mjs:3:45)"],
    ["at index.mjs:1:2", "RangeError in (index.mjs:1:2)"],
    ["at async file:///var/task/index.mjs:1:2", "RangeError in (index.mjs:1:2)"],
    ["at JSON.parse (<anonymous>)", "RangeError in JSON.parse"],
    ["", "RangeError"],
  ])("is read from the stack of bundles: %s", (frame, said) => {
    const error = new RangeError("call +12025550123 at home:1:2");
    error.stack = `RangeError: ${error.message}\n    ${frame}`;
    expect(errorForLog(error)).toBe(said);
  });

  it("is a type where something else was thrown", () => {
    expect(errorForLog("+12025550123")).toBe("string");
  });
});
