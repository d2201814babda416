import { expect, it } from "vitest";
import { runDirected } from "./directed.ts";
import { clocksOpposed } from "./directed-clocks.ts";

it("work continues beside a process that is an hour ahead and one that is an hour behind", async () => {
  const schedules = [...clocksOpposed()].slice(0, 8);
  const { runs, broken } = await runDirected(schedules);
  if (broken !== undefined) expect.fail(broken.slice(0, 20).join("\n"));
  expect(runs).toBe(schedules.length);
});
