import type { PlanTexts } from "#shared/answers/answers.ts";
import { listCountries, readNumber } from "#shared/leads/read-number.ts";
import type { CommandDeps } from "./command.ts";
import { Misuse } from "./failures.ts";
import type { Values } from "./options.ts";

/**
 * Reads phone numbers as people type them, by the same rules as files of numbers. Those without a country code are of
 * --country, or of the country that the dial plan implies. Says what was understood where that is not what was typed.
 *
 * @returns the numbers in E.164, each once
 * @throws a Misuse if one of the texts is no number
 */
export async function readTypedNumbers(
  texts: readonly string[],
  values: Values,
  { ask, terminal }: CommandDeps,
): Promise<string[]> {
  const isNational = texts.some((text) => !/^\s*(?:tel:)?(?:\+|00)/i.test(text));
  const country = isNational ? await countryOf(values, ask) : countryIn(values);
  const numbers = texts.map((text) => {
    const read = readNumber(text, country);
    if ("reason" in read) throw new Misuse(`${text} ${read.reason}. Nothing was sent.`);
    if (read.number !== text) terminal.complain(`${text} is read as ${read.number}.`);
    return read.number;
  });
  return [...new Set(numbers)];
}

/** Returns the country of --country, or else the one that the dial plan implies. */
export async function countryOf(
  values: Values,
  ask: CommandDeps["ask"],
): Promise<string | undefined> {
  const chosen = countryIn(values);
  if (chosen !== undefined) return chosen;
  return (await ask<PlanTexts>("/plan")).default_country ?? undefined;
}

/** Returns the country of --country. @throws a Misuse if it is none */
export function countryIn({ country }: Values): string | undefined {
  const known = country?.toUpperCase();
  if (known !== undefined && !listCountries().some((one) => one.country === known)) {
    throw new Misuse("--country is a country's two letters (ISO 3166-1), such as US.");
  }
  return known;
}
