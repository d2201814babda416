import { Misuse } from "./failures.ts";
import type { Json } from "./json.ts";
import type { Values } from "./options.ts";
import { say, type Terminal } from "./terminal.ts";

/** A grave act that was counted and has not been done. */
interface Act {
  /** Describes the act and its consequence: `cancels 12 calls that wait`. */
  does: string;
  /** The same as an answer for scripts. */
  answer: Json;
}

/**
 * Asks a person before a grave act. Resolves to undefined if the act may continue, otherwise to the exit code: 0 for
 * --dry-run, 2 after a "no".
 *
 * @throws a Misuse where nobody can be asked and --yes is not given
 */
export async function exitUnlessAgreed(
  { does, answer: known }: Act,
  { values, terminal }: { values: Values; terminal: Terminal },
): Promise<number | undefined> {
  if (values["dry-run"] === true) {
    say(`This ${does}. Nothing was done.`, { dry_run: true, ...known }, { values, terminal });
    return 0;
  }
  if (values.yes === true) return undefined;
  if (terminal.ask === undefined) {
    throw new Misuse(
      `This ${does}. Nothing was done: add --yes to do it, or --dry-run to count only.`,
    );
  }
  const said = await terminal.ask(`This ${does}. Continue? [y/N] `);
  if (/^y(es)?$/i.test(said.trim())) return undefined;
  terminal.complain("Nothing was done.");
  return 2;
}

/** Formats a count with its noun: `1 call`, `12 calls`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
