import { afterEach, describe, expect, it, vi } from "vitest";
import { workerLog } from "#shared/lib/log.ts";

describe("a Worker's log", () => {
  afterEach(() => vi.restoreAllMocks());

  it("writes alarms as errors and every other event as output, one JSON line each", () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const output = vi.spyOn(console, "log").mockImplementation(() => undefined);
    workerLog("alarm", "queue.unreachable", { code: "full" });
    workerLog("warning", "call.deferred", {});
    workerLog("info", "call.dialed", { count: 1 });
    const events = (spy: typeof error) =>
      spy.mock.calls.map(([line]) => /"event":"([\w.]+)"/.exec(String(line))?.[1]);
    expect(events(error)).toEqual(["queue.unreachable"]);
    expect(events(output)).toEqual(["call.deferred", "call.dialed"]);
  });
});
