import { dispatch, sweep, upkeep } from "#test/support/entries.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import type { Processes } from "./processes.ts";
import type { createSimulatedProvider } from "./provider.ts";
import type { createSimulatedQueue } from "./queue.ts";
import type { World } from "./world.ts";

const dayMs = 86_400_000;
/** Days before, around and after the purge of rows. */
const daysLater = [20, 58.5, 61];

/**
 * Delivers every message once more, weeks later. Nobody may be dialed: the rows show how the calls ended, or
 * the calls are too old.
 */
export async function weeksLater(
  world: World,
  {
    queue,
    events,
    processes,
    provider,
  }: {
    queue: ReturnType<typeof createSimulatedQueue<Message>>;
    events: ReturnType<typeof createSimulatedQueue<EventMessage>>;
    processes: Pick<Processes, "run">;
    provider: ReturnType<typeof createSimulatedProvider>;
  },
): Promise<string[]> {
  const startAt = world.now();
  const before = provider.requests.length;
  const messages = [...queue.seen];
  const hints = [...events.seen];
  for (const days of daysLater) {
    world.pass(startAt + days * dayMs - world.now());
    void processes.run("upkeep", 900_000, upkeep);
    await world.run(world.now() + 60_000);
    for (const message of messages) queue.repeat(message);
    for (const hint of hints) events.repeat(hint);
    for (let minute = 0; minute < 10; minute++) {
      void processes.run("sweep", 900_000, sweep);
      void processes.run("dispatch", 55_000, dispatch);
      await world.run(world.now() + 60_000);
    }
  }
  return provider.requests
    .slice(before)
    .map(({ id, at }) => `weeks later: ${id} is dialed at ${new Date(at).toISOString()}`);
}
