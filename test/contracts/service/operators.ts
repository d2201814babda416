import { expect, it } from "vitest";
import { until } from "#test/support/service.ts";
import { callsTo, post, runCalls, type ServiceBench } from "./setup.ts";

/** Describes operators' decisions about calls. */
export function itObeysOperators(bench: ServiceBench): void {
  it("lets an operator find a call under review, and have it made again, once", async () => {
    const { answers } = await runCalls(
      bench,
      "list",
      "--state",
      "NEEDS_REVIEW",
      "--agent",
      "fails",
    );
    expect(answers).toHaveLength(1);
    const id = String(answers[0]?.["id"]);
    const redials = await Promise.all([
      runCalls(bench, "redial", id, "--not-placed", "--yes"),
      runCalls(bench, "redial", id, "--not-placed", "--yes"),
    ]);
    expect(redials.map(({ code }) => code)).toEqual([0, 0]);
    const made = new Set(redials.map((one) => one.answers[0]?.["id"]));
    expect(made.size).toBe(1);
    await until(() => bench.receiver.to("/fails").length === 2);
    expect(bench.receiver.to("/fails")[1]?.id).toBe([...made][0]);
    await new Promise((next) => setTimeout(next, 3000));
    expect(bench.receiver.to("/fails")).toHaveLength(2);
    const story = await runCalls(bench, "show", id);
    expect(story.answers[0]).toMatchObject({ state: "REDIALED", redialed_as: [...made][0] });
  });

  it("holds the calls of an agent that an operator pauses, and ends cancelled calls", async () => {
    // The plan does not name the agent, so that the log must not: it has a number.
    const agent = "paused +13035559999";
    await runCalls(bench, "pause", "--agent", agent);
    await post(bench.service, "/v1/calls/batch", callsTo(agent, 20));
    const waiting = async () =>
      (await runCalls(bench, "list", "--state", "WAITING", "--agent", agent, "--limit", "20"))
        .answers;
    // The log is checked first: a list that does not find its twenty calls would scan every call.
    const told = () =>
      bench.service
        .output()
        .split("\n")
        .filter((line) => line.includes('"call.waiting"') && line.includes('"reason":"paused"'));
    await until(() => told().length === 20, { everyMs: 500 });
    expect(await waiting()).toHaveLength(20);
    const [one, two] = await waiting();
    const cancelled = await runCalls(
      bench,
      "cancel",
      String(one?.["id"]),
      String(two?.["id"]),
      "--yes",
    );
    expect(cancelled.code).toBe(0);
    expect(
      bench.receiver.received.filter(({ text }) => text.includes(`"agent_id":"${agent}"`)),
    ).toEqual([]);
    await runCalls(bench, "resume", "--agent", agent);
    const pausedOnes = () =>
      bench.receiver.received.filter(({ text }) => text.includes(`"agent_id":"${agent}"`));
    await until(() => pausedOnes().length === 18);
    await new Promise((next) => setTimeout(next, 2000));
    expect(pausedOnes()).toHaveLength(18);
    expect(pausedOnes().map(({ id }) => id)).not.toContain(one?.["id"]);
  });

  it("phones nobody on the do-not-call list", async () => {
    const [never] = callsTo("never", 1);
    await runCalls(bench, "dnc", "add", never?.phone_number ?? "");
    await post(bench.service, "/v1/calls", never);
    const rejected = async () =>
      (await runCalls(bench, "list", "--state", "REJECTED", "--agent", "never")).answers;
    await until(async () => (await rejected()).length === 1, { everyMs: 500 });
    expect((await rejected())[0]).toMatchObject({ reason: "do_not_call", number_tail: "00" });
    expect(bench.receiver.received.filter(({ text }) => text.includes('"never"'))).toEqual([]);
    await runCalls(bench, "dnc", "remove", never?.phone_number ?? "", "--yes");
    const { answers } = await runCalls(bench, "stats");
    expect(answers[0]).toMatchObject({ current: { NEEDS_REVIEW: 3 } });
  });
}
