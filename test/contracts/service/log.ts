import { expect, it } from "vitest";
import { token } from "#test/support/open-service.ts";
import { operator, type ServiceBench } from "./setup.ts";

/** Describes the permitted contents of the log that all previous tests have written. */
export function itLogsNothingPersonal(bench: ServiceBench): void {
  it("has logged no number, no context and no token in all of this", () => {
    const log = bench.service.output();
    const counted = (pattern: RegExp) => log.match(pattern)?.length ?? 0;
    expect(counted(/"event":"call.placed"/g)).toBeGreaterThan(700);
    // Two deliveries that move one call to review at the same time may both log it.
    const reviewed = log.split("\n").filter((line) => line.includes('"event":"call.needs_review"'));
    const idsOf = (line: string) => /"call_id":"(\w+)"/.exec(line)?.[1];
    expect(new Set(reviewed.map(idsOf)).size).toBe(4);
    // The log contains no number, with or without country code, no context and no token.
    expect(log.match(/303555\d{4}/)?.[0]).toBeUndefined();
    expect(counted(/context of/g)).toBe(0);
    expect(log.split(token)).toHaveLength(1);
    expect(log.split(operator.token)).toHaveLength(1);
    const lines = log.split("\n").filter((line) => line.startsWith("{"));
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ event: expect.any(String) });
  });
}
