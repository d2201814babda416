import { sayHolder } from "#shared/rules/texts.ts";
import { callStates, statesWhere } from "#shared/calls/states.ts";
import type { RequestView } from "#shared/answers/answers.ts";
import type { Command } from "./command.ts";
import { Misuse } from "./failures.ts";
import { barOf } from "./terminal.ts";

/** Interval between looks, in milliseconds. */
const lookEveryMs = 5_000;
const openStates = statesWhere(({ open }) => open);

export const requestCommands: Record<string, Command> = {
  /** Shows how far a request is until it is finished: as a bar on a terminal, otherwise a line for each change. */
  async request([id], values, { ask, terminal }) {
    if (id === undefined)
      throw new Misuse("request needs a request's id, the X-Request-Id of its 201.");
    let bar: ReturnType<typeof barOf> | undefined;
    let last = "";
    try {
      for (;;) {
        const view = await ask<RequestView>(`/requests/${encodeURIComponent(id)}`);
        bar ??= barOf(view.total, values, terminal);
        const ended = endedOf(view);
        bar.update(ended);
        const isFinished = ended === view.total;
        const line = lineOf(view, ended);
        if (isFinished) bar.stop();
        if (values.json === true) terminal.print(JSON.stringify(view));
        else if (line !== last && (isFinished || !terminal.isInteractive)) terminal.print(line);
        last = line;
        if (isFinished) return 0;
        await terminal.sleep(lookEveryMs);
      }
    } finally {
      bar?.stop();
    }
  },
};

/** Returns how many calls of a request the service has ended. */
function endedOf({ total, queued, by_state }: RequestView): number {
  return total - queued - openStates.reduce((sum, state) => sum + (by_state[state] ?? 0), 0);
}

/** Formats how far a request is: `120 of 200 ended: 80 WAITING, 118 PLACED, 2 REJECTED; expected end …; held: …`. */
function lineOf(view: RequestView, ended: number): string {
  const { total, queued, by_state, expected_end_at, blocked_by } = view;
  const states = callStates.flatMap((state) =>
    by_state[state] === undefined ? [] : `${by_state[state]} ${state}`,
  );
  const all = [...(queued > 0 ? [`${queued} on the queue`] : []), ...states].join(", ");
  const end = expected_end_at === null ? "" : `; expected end ${expected_end_at}`;
  const holders = blocked_by.map(({ reason, name, calls }) => {
    const texts = sayHolder(reason, name).replace(/\.$/, "");
    return calls === 0 ? texts : `${calls}: ${texts}`;
  });
  const held = holders.length === 0 ? "" : `; held: ${holders.join("; ")}`;
  return `${ended} of ${total} ended: ${all}${end}${held}`;
}
