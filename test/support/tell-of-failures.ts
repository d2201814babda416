import { afterEach } from "vitest";

/** Lines that are printed at most, from the end of the log. */
const linesMax = 30;

/** After each failed test of a `describe`, prints how often each event was logged, and the last ones above `info`. */
export function reportFailures(output: () => string): void {
  afterEach(({ task }) => {
    if (task.result?.state !== "fail") return;
    const lines = output().split("\n");
    const counts: Record<string, number> = {};
    for (const [, event = ""] of output().matchAll(/"event":"([\w.]+)"/g)) {
      counts[event] = (counts[event] ?? 0) + 1;
    }
    const grave = lines.filter((line) => line !== "" && !/"level":"info"/.test(line));
    console.log(`Until "${task.name}" failed, the service logged`, counts);
    console.log(grave.slice(-linesMax).join("\n"));
  });
}
