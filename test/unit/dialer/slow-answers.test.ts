import { describe, expect, it } from "vitest";
import { recordSlow } from "#functions/dialer/record/answer-times.ts";
import { aCallNow, ownAccount, putDocument } from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { dialOf } from "#test/support/resolved.ts";

describe("a wait of two seconds", () => {
  it.each([
    ["for a request concerns the account and the backlog", "request", false],
    ["for checks concerns the backlog alone", "checks", true],
  ] as const)("%s", async (_, of, isAccountQuick) => {
    const bench = createDialerBench();
    const { settings, documents } = bench.deps;
    const call = aCallNow(bench);
    const route = settings.table.find({ ...call, agentId: call.request.agent_id });
    if (route === undefined) throw new Error("the plan has no route");
    const dial = dialOf({ call, row: undefined, route, dialAt: bench.now() }, settings);
    const account = { kind: "account", key: ownAccount } as const;
    const backlog = { kind: "backlog", key: dial.backlog } as const;
    await putDocument(bench, account, { quick: true, busy: false });
    await putDocument(bench, backlog, { ...dial.of, mode: "live", usedAt: 0, answers: "quick" });
    const read = await documents.read([account, backlog]);
    await recordSlow(dial, { of, read }, bench.deps);
    const after = await documents.read([account, backlog]);
    expect(after.get("account", account.key)?.value.quick).toBe(isAccountQuick);
    expect(after.get("backlog", backlog.key)?.value.answers).toBe("slow");
  });
});
