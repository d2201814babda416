import { expect, it } from "vitest";
import { createQueueWatch } from "#functions/api/actions/watch-queue.ts";

const minute = 60_000;
const startAt = Date.parse("2026-06-01T10:00Z");

it("the watch of a queue raises an alarm once an hour, while a message is older than 15 minutes", async () => {
  let now = startAt;
  let sentAt: number | undefined;
  const raised: unknown[] = [];
  const watch = createQueueWatch({
    readOldestSentAt: async () => sentAt,
    clock: { now: () => now },
    log: (...line) => raised.push(line),
  });
  await watch();
  sentAt = startAt;
  now += 15 * minute;
  await watch();
  expect(raised).toEqual([]);
  const alarm = ["alarm", "queue.late", { due_at: "2026-06-01T10:00:00.000Z" }];
  for (let n = 0; n < 20; n++) {
    now += 3 * minute;
    await watch();
  }
  expect(raised).toEqual([alarm]);
  now += 3 * minute;
  await watch();
  expect(raised).toEqual([alarm, alarm]);
  sentAt = now;
  now += minute;
  await watch();
  expect(raised).toHaveLength(2);
});
