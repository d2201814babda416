import { expect } from "vitest";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/service.ts";
import { callBack, verifiedCall } from "../support/webhook-callbacks.ts";

/** Lines of the provider, calls of one batch (200 in the long tests), and the duration of a call. */
const lines = 10;
const batchCalls = Number(process.env["LIVE_CALLS"] ?? 60);
const callMs = 1_500;

/** Starts a webhook with ten lines, which calls back at the end of each call. */
export async function startLines() {
  let live = 0;
  let most = 0;
  let ended = 0;
  const receiver = await startReceiver((request, response) => {
    const call = verifiedCall(request, response);
    if (call === undefined) return;
    live += 1;
    most = Math.max(most, live);
    response.writeHead(200).end("{}");
    setTimeout(() => {
      live -= 1;
      void callBack(call, { status: "completed" }).then(() => (ended += 1));
    }, callMs);
  });
  return {
    agent: { provider: "lines", url: `${receiver.url}/dial` },
    account: { type: "webhook", liveCalls: lines },
    close: () => receiver.close(),
    /** Posts a batch, and checks that each call is placed once and none beyond the lines. */
    async check(post: (calls: object) => Promise<unknown>) {
      await post(
        Array.from({ length: batchCalls }, (_, index) => ({
          phone_number: `+1303555${String(2_000 + index)}`,
          agent_id: "of_lines",
        })),
      );
      await until(() => ended === batchCalls, { everyMs: 250 });
      expect(receiver.received).toHaveLength(batchCalls);
      expect(most).toBeLessThanOrEqual(lines);
      expect(most).toBeGreaterThan(1);
    },
  };
}
