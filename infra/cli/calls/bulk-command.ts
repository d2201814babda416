import type { Bulk } from "#shared/answers/answers.ts";
import type { Command, CommandDeps } from "./command.ts";
import { counted, exitUnlessAgreed } from "./agree.ts";
import { Failure, Misuse } from "./failures.ts";
import type { Values } from "./options.ts";
import { barOf, say } from "./terminal.ts";

/** Describes each action on so many calls. */
const deeds: Record<string, (calls: string) => string> = {
  cancel: (calls) => `cancels ${calls}, for good`,
  placed: (calls) => `marks ${calls} as placed, for good`,
  close: (calls) => `closes ${calls} as not placed, for good`,
  redial: (calls) => `calls the numbers of ${calls} again`,
};
const actions = ["cancel", "placed", "close", "redial"];
/** Maximum tries of one request, and the time between them. A repeated request acts on the same calls. */
const triesMax = 5;
const retryMs = 5000;

/** The command that acts on all calls that fit a filter: it counts them first, and asks. */
export const bulkCommands: Record<string, Command> = {
  async bulk([name = "", ...rest], values, { ask, terminal }) {
    if (rest.length > 0 || !actions.includes(name)) {
      throw new Misuse(`bulk is followed by ${actions.join(", ")}, and options.`);
    }
    const body = {
      action: name,
      filter: filterIn(values),
      ...(values["not-placed"] === true ? { not_placed: true } : {}),
    };
    const { found, counted_at } = await goOn({ ...body, dry_run: true }, { ask, terminal });
    if (found === 0) {
      say("0 calls match.", { found, counted_at }, { values, terminal });
      return 0;
    }
    const act = {
      does: deeds[name]?.(counted(found, "call")) ?? name,
      answer: { found, counted_at },
    };
    const exit = await exitUnlessAgreed(act, { values, terminal });
    if (exit !== undefined) return exit;
    const bar = barOf(found, values, terminal);
    // The calls that were counted, and none that came later.
    const total = await goOn(
      { ...body, counted_at },
      { ask, terminal, onAnswer: ({ done, left }) => bar.update(done + left) },
    );
    bar.stop();
    const { done, left, refused, bulk_id } = total;
    const why = Object.entries(refused).map(([reason, count]) => `${count} ${reason}`);
    const texts = why.length === 0 ? "" : `: ${why.join(", ")}`;
    say(`${done} done, ${left} refused${texts}.`, { bulk_id, done, refused }, { values, terminal });
    return left > 0 ? 2 : 0;
  },
};

function filterIn(values: Values): Record<string, string | undefined> {
  const { state, client, campaign, agent, account, reason, request, from, until } = values;
  return {
    state,
    client,
    campaign,
    agent_id: agent,
    account,
    reason,
    request_id: request,
    from,
    until,
  };
}

interface Total {
  bulk_id: string;
  counted_at: string;
  found: number;
  done: number;
  left: number;
  refused: Record<string, number>;
}

/** Repeats a request with the cursor of each answer until there is none, and adds the answers up. */
async function goOn(
  body: object,
  { ask, terminal, onAnswer }: CommandDeps & { onAnswer?(total: Total): void },
): Promise<Total> {
  const total: Total = { bulk_id: "", counted_at: "", found: 0, done: 0, left: 0, refused: {} };
  let cursor: string | undefined;
  do {
    const answer = await askAgain({ ...body, cursor }, { ask, terminal });
    total.bulk_id = answer.bulk_id;
    total.counted_at = answer.counted_at;
    total.found += answer.found;
    total.done += answer.done;
    for (const [why, count] of Object.entries(answer.refused)) {
      total.refused[why] = (total.refused[why] ?? 0) + count;
      total.left += count;
    }
    onAnswer?.(total);
    cursor = answer.cursor;
  } while (cursor !== undefined);
  return total;
}

async function askAgain(body: object, { ask, terminal }: CommandDeps): Promise<Bulk> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask<Bulk>("/bulk", body);
    } catch (error) {
      if (!(error instanceof Failure) || tries === triesMax) throw error;
      terminal.complain(`${error.message} Trying again in ${retryMs / 1000} s.`);
      await terminal.sleep(retryMs);
    }
  }
}
