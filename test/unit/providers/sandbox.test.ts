import { toAccountName } from "#shared/calls/ids.ts";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isTestNumber } from "#shared/calls/test-numbers.ts";
import { sandbox } from "#shared/providers/sandbox.ts";
import { sandboxTable } from "#test/support/sandbox-table.ts";
import { aCall } from "#test/support/calls.ts";
import { type Send, Withheld } from "#shared/lib/http-client.ts";

it("does what docs/sandbox.md says of each number", () => {
  const text = readFileSync("docs/sandbox.md", "utf8");
  const lines = text.matchAll(/^- `(\d\d)`: .+?:(?: `([A-Z_]+)` `(\w+)`)?(?: `(\w+)`)?$/gm);
  const said = [...lines].map(([, digits, state = "PLACED", reason = "placed", result = ""]) => {
    return { digits, state, reason, result };
  });
  const promised = sandboxTable.map(({ digits, state, reason, result }) => ({
    digits,
    state,
    reason,
    result,
  }));
  expect([...said, { ...said[0], digits: "99" }]).toEqual(promised); // test/contracts/sandbox.ts runs it
});

it("takes the numbers that are reserved for fiction, and no others", () => {
  const numbers = ["+12025550100", "+12025550199", "+12025550200", "+12025550099", "+1202555010"];
  expect(numbers.map(isTestNumber)).toEqual([true, true, false, false, false]);
});

const provider = sandbox.create(
  { secret: () => undefined, fetch, now: () => 0, print: () => undefined },
  [],
);
const route = { provider: "sandbox", account: toAccountName("test:acme:vapi") } as const;
const dial = (phone_number: string, guarded = (send: Send): Send => send) =>
  provider.dial(
    {
      call: aCall({ request: { phone_number, agent_id: "a" } }),
      attempt: 1,
      timeoutSeconds: 0.05,
      guarded,
    },
    route,
  );

it("refuses a number that is none of its own", async () => {
  expect(await dial("+13035550100")).toEqual({ kind: "rejected", code: "no_test_number" });
});

it("hangs no longer than the account's time limit, and reports no result of another call", async () => {
  expect(await dial("+12025550111")).toEqual({ kind: "unknown", code: "time_out" });
  const placed = { id: "call_1", attempt: 1, providerCallId: "sandbox-00-0-call_2" };
  expect(await provider.readResult?.(placed, route)).toBeUndefined();
});

it("is withheld by the last look, as every request", async () => {
  const withheld = (): Send => async () => {
    throw new Withheld("hours");
  };
  await expect(dial("+12025550100", withheld)).rejects.toThrow(Withheld);
});
