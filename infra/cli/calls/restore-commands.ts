import type { AnswerOf } from "#shared/answers/answers.ts";
import type { Command } from "./command.ts";
import { say } from "./terminal.ts";

type RestoreView = AnswerOf<"showRestore">;

/** The command for a ledger that was restored from a backup. */
export const restoreCommands: Record<string, Command> = {
  async restored(_rest, { at, unnoticed, ...values }, { ask, terminal }) {
    const body = unnoticed === true ? { at, unnoticed } : { at };
    const restore = await ask<RestoreView>("/restored", at === undefined ? undefined : body);
    say(textOf(restore), { ...restore }, { values, terminal });
    return 0;
  },
};

function textOf(restore: RestoreView): string {
  const { state, since, restored_to } = restore;
  const calls = `${restore.looked_up} calls are looked up, ${restore.to_review} need review.`;
  switch (state) {
    case "none":
      return "The ledger was not restored. Calls are dialed.";
    case "suspended":
      return (
        `The ledger was restored from a backup; noticed at ${since}. NOTHING IS DIALED.\n` +
        "First repeat the pauses of the time since the backup (pause). Opt-outs, erasures and cancellations\n" +
        "are applied again by themselves. Then name the time of the backup:\n" +
        "npm run calls -- restored --at TIME"
      );
    case "confirmed":
      return (
        `Restored to ${restored_to}. Sweeps check the calls, and nothing is dialed yet: ${calls}\n` +
        `The pass under way has read ${restore.rows_read} calls in ${restore.backlogs_read} backlogs; the last one finds nothing more.\n` +
        "What you resolved or redialed since then needs review again: decide nothing twice.\n" +
        "Show its progress: npm run calls -- restored"
      );
    case "done":
      return `Restored to ${restored_to}. Calls are dialed again: ${calls}`;
  }
}
