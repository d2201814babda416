import type { RestoreView } from "../../../functions/api/operator/restores.ts";
import type { Command } from "./command.ts";
import { say } from "./terminal.ts";

/** The command for a ledger that was restored from a backup. */
export const restoreCommands: Record<string, Command> = {
  async restored(_rest, { at, ...values }, ask, terminal) {
    const restore = await ask<RestoreView>("/restored", at === undefined ? undefined : { at });
    say(textOf(restore), { ...restore }, values, terminal);
    return 0;
  },
};

function textOf(restore: RestoreView): string {
  const { state, since, restored_to } = restore;
  const calls = `${restore.looked_up} calls are looked up, ${restore.to_review} wait for review.`;
  switch (state) {
    case "none":
      return "The ledger was not restored. Calls are dialed.";
    case "held":
      return (
        `The ledger went back; noticed at ${since}. NOTHING IS DIALED.\n` +
        "Name the time to which it was restored: npm run calls -- restored --at TIME"
      );
    case "confirmed":
      return (
        `Restored to ${restored_to}. Sweeps go through the calls, and nothing is dialed yet: ${calls}\n` +
        `Enter again what was changed between ${restored_to} and ${since}: entries of the do-not-call\n` +
        "list (dnc add), pauses (pause) and cancellations (cancel). Decide nothing twice: what you resolved or\n" +
        "redialed in that time stands for review again. Show how far it is: npm run calls -- restored"
      );
    case "done":
      return `Restored to ${restored_to}. Calls are dialed again: ${calls}`;
  }
}
