import { describe, expect, it } from "vitest";
import { postCalls, toEnvironment } from "../support/open-service.ts";
import { aws } from "../support/platforms.ts";
import { functionProcesses } from "../support/processes.ts";
import { startReceiver } from "../support/receiver.ts";
import { type LedgerRow, makeStateDirectory, startService, until } from "../support/service.ts";

/** Describes a failure: the rows that have not ended, and the complaints of the service. */
function stillOpen(rows: LedgerRow[], output: string): string[] {
  const open = rows
    .filter(({ state }) => state !== "PLACED" && state !== "NEEDS_REVIEW")
    .map(({ state, reason, attempt, dueAt }) => `${state} ${reason} ${attempt} due ${dueAt}`);
  const alarms = output.split("\n").filter((line) => line.includes('"level":"alarm"'));
  return [`${rows.length} rows`, ...open.slice(0, 5), ...alarms.slice(-20)];
}

describe("kill -9", () => {
  it("of dialers in mid-delivery and of the dispatcher, then of everything, loses nothing and dials nobody twice", async () => {
    // Answers are slow, so that calls are under way whenever a process is killed.
    const receiver = await startReceiver((_request, response) => {
      setTimeout(() => response.writeHead(200).end(), 40);
    });
    const directory = await makeStateDirectory();
    const environment = toEnvironment({
      plan: {
        agents: { "*": { provider: "webhook", url: `${receiver.url}/dial` } },
        providers: { webhook: { timeoutSeconds: 2, concurrency: 5 } },
        reviewAfterSeconds: 5,
      },
      environment: { VISIBILITY_SECONDS: "5" },
    });
    const count = 400;
    const first = await startService(aws, environment, directory.path);
    await postCalls(
      first,
      Array.from({ length: count }, (_, n) => ({
        phone_number: `+1303555${String(n).padStart(4, "0")}`,
        agent_id: "agent",
      })),
    );
    for (let kill = 1; kill <= 3; kill++) {
      await until(() => receiver.received.length >= kill * 40);
      const names = kill === 2 ? (["dialer", "dispatcher"] as const) : (["dialer"] as const);
      // A function has as many processes as invocations came to it at once, and none after the kill before.
      await until(() => names.every((name) => functionProcesses(first, name).length > 0));
      const killed = names.flatMap((name) => functionProcesses(first, name));
      for (const { pid } of killed) process.kill(pid, "SIGKILL");
    }
    await until(() => receiver.received.length >= 160);
    await first.end("SIGKILL");

    const second = await startService(aws, environment, directory.path);
    let rows: LedgerRow[] = [];
    const isSettled = ({ state }: LedgerRow) => state === "PLACED" || state === "NEEDS_REVIEW";
    const areSettled = async () => {
      rows = await aws.rows(second);
      return rows.length === count && rows.every(isSettled);
    };
    await until(areSettled, { everyMs: 2000 }).catch(() =>
      expect(stillOpen(rows, second.output())).toEqual([]),
    );
    const times = new Map<string, number>();
    for (const { id } of receiver.received) times.set(id, (times.get(id) ?? 0) + 1);
    expect(Math.max(...times.values())).toBe(1);
    const unreceived = rows.filter(({ id }) => !times.has(id));
    for (const row of unreceived) {
      expect([row.state, row.request !== null]).toEqual(["NEEDS_REVIEW", true]);
    }
    expect(new Set([...rows.map(({ id }) => id), ...times.keys()]).size).toBe(count);
    await second.end("SIGTERM");
    await receiver.close();
    await directory.remove();
  });
});
