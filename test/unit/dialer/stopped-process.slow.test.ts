import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { startTestReceiver } from "#test/support/test-receiver.ts";

const script = join(import.meta.dirname, "../../support/livekit-process.ts");
const rings = "/twirp/livekit.SIP/CreateSIPParticipant";
/** Seconds after which a call's time is over, and a longer time for which the process stands still. */
const expiresAfterSeconds = 10;
const stoppedMs = 11_000;

/** Dials in a process of its own, which is stopped while its request to this path is answered. */
async function dialStoppedAt(
  path: string,
  seconds = expiresAfterSeconds,
): Promise<{ outcome: unknown; paths: string[] }> {
  let isStopped = false;
  const receiver = await startTestReceiver((request, response) => {
    const answer = () => {
      if (request.path.endsWith("ListDispatch")) {
        response.end('{"agent_dispatches":[{"id":"AD_1","state":{"jobs":[{"id":"AJ_1"}]}}]}');
      } else response.end(request.path === rings ? '{"sip_call_id":"SCL_1"}' : '{"id":"AD_1"}');
    };
    if (request.path.endsWith(path) && !isStopped) {
      isStopped = true;
      child.kill("SIGSTOP");
      void sleep(stoppedMs).then(() => child.kill("SIGCONT"));
    }
    answer();
  });
  const args = [script, receiver.url, String(seconds)];
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = execFile(process.execPath, args, (error, stdout, stderr) => {
    if (error === null) resolve(stdout);
    else reject(new Error(stderr));
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const outcome: unknown = JSON.parse(await promise);
  return { outcome, paths: receiver.received.map((one) => one.path) };
}

describe("a process that is stopped while it dials by LiveKit", () => {
  it.each(["CreateDispatch", "ListDispatch"])(
    "lets no phone ring once the call's time is over, though it was stopped at %s",
    async (path) => {
      const { outcome, paths } = await dialStoppedAt(path);
      expect(outcome).toEqual({ kind: "withheld", state: "EXPIRED", reason: "expired" });
      expect(paths).not.toContain(rings);
      expect(paths.length).toBeGreaterThan(0);
    },
  );

  it("lets it ring where it was not stopped", async () => {
    const { outcome, paths } = await dialStoppedAt("nowhere", 600);
    expect(outcome).toEqual({ kind: "placed", providerCallId: "SCL_1" });
    expect(paths.at(-1)).toBe(rings);
  });
});
