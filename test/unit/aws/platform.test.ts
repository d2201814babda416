import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createAwsPlatform, everyFiveMinutes } from "#shared/aws/platform.ts";
import type { Log } from "#shared/lib/log.ts";

let events: string[];
const log: Log = (_level, event) => events.push(event);
beforeEach(() => {
  vi.useFakeTimers();
  events = [];
});
afterEach(() => vi.useRealTimers());

describe("the environment of a Lambda function", () => {
  it("is read again after five minutes, and not before", async () => {
    let reads = 0;
    const read = everyFiveMinutes(async () => ++reads, log);
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
    }, log);
    await expect(read()).rejects.toThrow("the settings cannot be read");
    works = true;
    expect(await read()).toBe("value");
    works = false;
    vi.advanceTimersByTime(5 * 60_000);
    expect(await read()).toBe("value");
    expect(events).toEqual(["settings.unreachable", "settings.unreachable"]);
    // The old settings do not serve for ever: a token may have been revoked.
    vi.advanceTimersByTime(55 * 60_000);
    await expect(read()).rejects.toThrow("the settings cannot be read");
  });

  it("is not waited for if its read hangs and an older one is at hand", async () => {
    let hangs = false;
    let reads = 0;
    const read = everyFiveMinutes(async () => {
      reads += 1;
      return hangs ? new Promise<string>(() => undefined) : "value";
    }, log);
    expect(await read()).toBe("value");
    hangs = true;
    vi.advanceTimersByTime(5 * 60_000);
    const waited = read();
    await vi.advanceTimersByTimeAsync(5000);
    expect(await waited).toBe("value");
    expect([await read(), reads]).toEqual(["value", 2]); // the retry does not follow at once
  });

  it("names the variable that is missing", () => {
    const variables = {
      QUEUE_URL: "q",
      EVENTS_QUEUE_URL: "e",
      BUCKET: "b",
    };
    process.env["AWS_REGION"] ??= "us-east-1";
    expect(() => createAwsPlatform(variables, log)).toThrow("TABLE is not set");
    expect(createAwsPlatform({ ...variables, TABLE: "t" }, log)).toMatchObject({ table: "t" });
  });

  it("is the variables alone where no secret is named", async () => {
    const variables = {
      QUEUE_URL: "q",
      EVENTS_QUEUE_URL: "e",
      BUCKET: "b",
      TABLE: "t",
      HASH_KEY: "h",
    };
    expect(await createAwsPlatform(variables, log).environment()).toEqual(variables);
  });
});
