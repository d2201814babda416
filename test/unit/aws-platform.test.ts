import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createAwsPlatform, everyFiveMinutes } from "../../shared/aws-platform.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("what a Lambda function reads at its start", () => {
  it("is read again after five minutes, and not before", async () => {
    let reads = 0;
    const read = everyFiveMinutes(async () => ++reads);
    expect([await read(), await read()]).toEqual([1, 1]);
    vi.advanceTimersByTime(5 * 60_000 - 1);
    expect(await read()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await read()).toBe(2);
  });

  it("serves on where it cannot be read again, and fails where it never could", async () => {
    let works = false;
    const read = everyFiveMinutes(async () => {
      if (!works) throw new Error("no answer");
      return "value";
    });
    await expect(read()).rejects.toThrow("no answer");
    works = true;
    expect(await read()).toBe("value");
    works = false;
    vi.advanceTimersByTime(5 * 60_000);
    expect(await read()).toBe("value");
  });

  it("names the variable that is missing", () => {
    const variables = { QUEUE_URL: "q", DEAD_QUEUE_URL: "d", BUCKET: "b" };
    process.env["AWS_REGION"] ??= "us-east-1";
    expect(() => createAwsPlatform(variables)).toThrow("TABLE is not set");
    expect(createAwsPlatform({ ...variables, TABLE: "t" })).toMatchObject({ table: "t" });
  });

  it("is the variables alone where no secret is named", async () => {
    const variables = {
      QUEUE_URL: "q",
      DEAD_QUEUE_URL: "d",
      BUCKET: "b",
      TABLE: "t",
      HASH_KEY: "h",
    };
    expect(await createAwsPlatform(variables).environment()).toEqual(variables);
  });
});
