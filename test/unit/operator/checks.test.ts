import { toAccountName } from "#shared/calls/ids.ts";
import { accountOf } from "#test/support/account-of.ts";
import { describe, expect, it } from "vitest";
import { toCallDetail } from "#functions/operator/call-view.ts";
import { breakerViewSchema, listBreakerViews } from "#functions/operator/breakers.ts";
import { applyClaim, withoutPerson, type Write } from "#shared/calls/transitions.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn } from "#test/support/rows.ts";

const at = Date.parse("2026-06-01T10:00Z");
const route = {
  provider: "webhook" as const,
  account: toAccountName("webhook"),
  url: "http://127.0.0.1:9/",
  checks: ["crm"],
};
const checks = [{ check: "crm", at: at - 500, evidence: "consent 7" }];
const write: Write = { version: "v", at };

const claim = (row: ReturnType<typeof rowIn>) => {
  const newCall = { call: aCall(), numberHash: "", numberTail: "" };
  const next = applyClaim(row, { newCall, route, account: accountOf(route), checks }, write);
  if (next === undefined) throw new Error("the row was not claimed");
  return next;
};
const waiting = () =>
  rowIn("WAITING", aCall({ acceptedAt: at - 9_000 }), { at: at - 1_000, dueAt: at - 1 });

describe("the evidence of a check", () => {
  it("is shown with the step of the claim", () => {
    const { history } = toCallDetail(claim(waiting()));
    expect(history.at(-1)).toMatchObject({
      state: "DIALING",
      checks: [{ check: "crm", asked_at: "2026-06-01T09:59:59.500Z", evidence: "consent 7" }],
    });
    expect(history[0]).not.toHaveProperty("checks");
  });

  it("of the latest claim stands in a full history too, which does not grow", () => {
    const row = waiting();
    const step = { at: at - 800, state: "WAITING", reason: "turn" } as const;
    const claimed = { at: at - 900, state: "DIALING", reason: "claimed", checks: [] } as const;
    const full = {
      ...row,
      history: [step, { ...claimed, checks: [] }, ...Array.from({ length: 58 }, () => step)],
    };
    const { history } = claim(full);
    expect(history).toHaveLength(60);
    expect(history.filter((one) => one.checks !== undefined)).toEqual([
      { at, state: "DIALING", reason: "claimed", checks },
    ]);
  });

  it("can be taken out of a row, which keeps that the check was asked", () => {
    const bare = withoutPerson(claim(waiting()), at);
    expect(JSON.stringify(bare)).not.toContain("consent");
    expect(bare.history.at(-1)?.checks).toEqual([{ check: "crm", at: at - 500 }]);
  });
});

describe("the circuit breaker of a check", () => {
  it("is shown with its name, its code and its failures", async () => {
    const documents = createMemoryDocuments(
      () => at,
      () => "v",
    );
    const key = "check:crm";
    const breaker: StoredDocument<"breaker"> = {
      kind: "breaker",
      key,
      version: "1",
      value: {
        state: "open",
        cause: "check",
        code: "http_503",
        openedAt: at,
        probeAt: at,
        intervalMs: 5_000,
        room: 0,
        blamed: [],
      },
      expiresAt: null,
    };
    await documents.add({ kind: "counters", key }, { inRow: 6 }, at + 1_000);
    const views = await listBreakerViews([breaker], documents);
    expect(views).toMatchObject([
      { key, kind: "check", name: "crm", cause: "check", failures: { in_row: 6 } },
    ]);
    expect(breakerViewSchema.safeParse(views[0]).success).toBe(true);
  });
});
