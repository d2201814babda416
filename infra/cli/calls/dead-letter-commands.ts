import type { AnswerOf } from "#shared/answers/answers.ts";
import { forEach, pageCallsMax } from "./chosen-calls.ts";
import type { Client } from "./client.ts";
import type { Command } from "./command.ts";
import { Misuse } from "./failures.ts";
import { numberOf } from "./options.ts";
import { show, showFacts } from "./terminal.ts";

type DeadLetterDetail = AnswerOf<"showDeadLetter">;
type DeadLetterList = AnswerOf<"listDeadLetters">;
type RevealedDeadLetter = AnswerOf<"revealDeadLetter">;
type DeadLetter = DeadLetterList["dead_letters"][number];

const verbs: Record<string, Command> = {
  async list(_names, values, { ask, terminal }) {
    const limit = numberOf(values.limit ?? "50", "--limit");
    const letters = await listLetters(limit, ask);
    show(letters, ["name", "queue", "stored_at", "bytes"], { values, terminal });
    return 0;
  },

  async show([name], values, { ask, terminal }) {
    if (name === undefined) throw new Misuse("dead show needs a dead letter's name.");
    const path = `/dead-letters/${encodeURIComponent(name)}`;
    const letter = await ask<DeadLetterDetail>(path);
    const revealed = values.reveal === true ? { body: await reveal(path, ask) } : {};
    const whole = { ...letter, ...revealed };
    if (values.json === true) {
      terminal.print(JSON.stringify(whole));
      return 0;
    }
    showFacts(whole, terminal);
    if (letter.message_kind === null) {
      terminal.print("This version cannot read it: a later version of the service has sent it.");
    }
    return 0;
  },

  async "put-back"(names, values, { ask, terminal }) {
    if (names.length > 0 === (values.all === true)) {
      throw new Misuse("dead put-back needs either names or --all.");
    }
    const chosen =
      names.length > 0 ? names : (await listLetters(Infinity, ask)).map(({ name }) => name);
    if (chosen.length === 0) {
      if (values.json !== true) terminal.print("None.");
      return 0;
    }
    const perform = (name: string) => ask<DeadLetterDetail>(`/dead-letters/${name}/put-back`, {});
    return forEach(chosen, { values, perform }, { ask, terminal });
  },

  async discard(names, values, { ask, terminal }) {
    if (names.length === 0) throw new Misuse("dead discard needs dead letters' names.");
    if (values.yes !== true) {
      throw new Misuse(
        "Nothing was discarded: --yes is required. Calls of a discarded letter that have no row are lost; see dead show.",
      );
    }
    const perform = (name: string) => ask<DeadLetterDetail>(`/dead-letters/${name}/discard`, {});
    return forEach(names, { values, perform }, { ask, terminal });
  },
};

/** The command for messages that failed a hundred times. */
export const deadLetterCommands: Record<string, Command> = {
  dead([verb = "", ...names], values, deps) {
    const perform = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
    if (perform === undefined)
      throw new Misuse("dead is followed by list, show, put-back or discard.");
    return perform(names, values, deps);
  },
};

/** Reads the whole message of a dead letter, part after part. */
async function reveal(path: string, ask: Client): Promise<string> {
  let body = "";
  let from: number | undefined = 0;
  while (from !== undefined) {
    const part: RevealedDeadLetter = await ask<RevealedDeadLetter>(
      `${path}/reveal?from=${from}`,
      {},
    );
    body += part.body;
    from = part.next;
  }
  return body;
}

/** Reads dead letters, page after page. */
async function listLetters(limit: number, ask: Client): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  let cursor: string | undefined;
  do {
    const place = cursor === undefined ? "" : `&cursor=${cursor}`;
    const size = Math.min(pageCallsMax, limit - letters.length);
    const page = await ask<DeadLetterList>(`/dead-letters?limit=${size}${place}`);
    letters.push(...page.dead_letters);
    cursor = page.cursor;
  } while (cursor !== undefined && letters.length < limit);
  return letters;
}
