import { expect, it } from "vitest";
import { aCall } from "../support/calls.ts";
import type { startReceiver } from "../support/receiver.ts";
import type { LookUpFixture, ProviderBench } from "./provider-bench.ts";

type AnswerWith = Parameters<typeof startReceiver>[0];

/** Answers each request in turn. */
function inTurn(answers: readonly unknown[]): AnswerWith {
  const all = answers.map((one) => JSON.stringify(one));
  return (_request, response, { length }) => {
    response.writeHead(200, { "content-type": "application/json" }).end(all[length - 1] ?? "");
  };
}

/** Describes how an adapter searches the provider's records. */
export function describeLookUps(bench: ProviderBench, fixtures: LookUpFixture[]): void {
  const { lookUp, expectRequests, provider } = bench;
  const isNothing = ({ found }: LookUpFixture) =>
    found === undefined || ("providerCallIds" in found && found.providerCallIds.length === 0);

  it.each(fixtures)("looks a call up as in $page: $found", async (fixture) => {
    const { asks, answers, found, attempt = 1 } = fixture;
    const call = aCall();
    const looked = await lookUp(inTurn(answers(call)), { call, attempt });
    expect(looked.found).toEqual(found ?? "nothing");
    expectRequests(looked.received, asks(call));
    expect(looked.received.map(({ path }) => path).join()).not.toContain("2025550123");
  });

  it("finds a call that the list shows late, and does not take its absence as proof", async () => {
    const none = fixtures.find(isNothing);
    const there = fixtures.find((one) => !isNothing(one));
    if (none === undefined || there === undefined) throw new Error("fixtures are missing");
    const call = aCall();
    const before = await lookUp(inTurn(none.answers(call)), { call });
    expect(before.found).not.toHaveProperty("notPlaced");
    const after = await lookUp(inTurn(there.answers(call)), { call, attempt: there.attempt ?? 1 });
    expect(after.found).toEqual(there.found);
  });

  const isById = fixtures.every(({ found }) => found === undefined || found.by === "id");
  if (isById && provider.namesNoCall !== true) {
    it.each(fixtures)("does not take another call's record for ours, in $page", async (fixture) => {
      const answers = fixture.answers(aCall({ id: `call_${"9".repeat(32)}` }));
      const { found } = await lookUp(inTurn(answers), {
        call: aCall({ id: `call_${"8".repeat(32)}` }),
        attempt: fixture.attempt ?? 1,
      });
      expect(["nothing", "not to be asked"]).toContain(found);
    });
  }

  it("finds nothing in an unusable answer", async () => {
    const body = "x".repeat(10_000_000);
    const answers = await Promise.all([
      lookUp((_request, response) => response.end("<html>welcome</html>")),
      lookUp((_request, response) => response.end("null")),
      lookUp((_request, response) => response.end(body)),
      lookUp((_request, response) => response.writeHead(429).end("{}")),
      lookUp((_request, response) => response.writeHead(302, { location: "/other" }).end()),
      lookUp((_request, response) => response.socket?.resetAndDestroy()),
    ]);
    for (const [index, { found, received }] of answers.entries()) {
      expect(found).toBe("not to be asked");
      // A list that is too long may be asked for in smaller pages, and no more often than that.
      expect(received.length).toBeLessThanOrEqual(index === 2 ? 4 : 1);
    }
  });
}
