import type { PlanTexts } from "#shared/answers/answers.ts";
import type { Ask } from "./client.ts";
import type * as reader from "#shared/leads/reader.ts";

/** A number as it was understood. */
export interface Understood {
  /** E.164. */
  number: string;
  /** As people write it, with its country: `+1 202 555 0123, United States`. */
  shown: string;
}

/** A text as a number, or the reason for which it is none. */
type NumberRead = Understood | { reason: string };

/** Reads numbers by the rules of lists. Those without a country code are of the country that the dial plan implies. */
export interface NumberReader {
  readOne(text: string): NumberRead;
  readMany(text: string): ReturnType<typeof reader.readNumbers>;
  describe(number: string): string;
  /** The name of the country of numbers without a code; undefined if the plan implies none. */
  country: string | undefined;
}

/** Time for which the plan's country is remembered: it changes with a deployment. */
const rememberedMs = 60_000;

let remembered: { until: number; loading: Promise<NumberReader> } | undefined;

/** Loads the reader of numbers, a file of its own, and the country of the dial plan. */
export function loadNumberReader(ask: Ask): Promise<NumberReader> {
  if (remembered !== undefined && Date.now() < remembered.until) return remembered.loading;
  const loading = load(ask);
  remembered = { until: Date.now() + rememberedMs, loading };
  loading.catch(() => (remembered = undefined));
  return loading;
}

async function load(ask: Ask): Promise<NumberReader> {
  const [{ describeNumber, readNumber, readNumbers }, plan] = await Promise.all([
    import("#shared/leads/reader.ts"),
    ask<PlanTexts>("/plan"),
  ]);
  const country = plan.default_country ?? undefined;
  const describe = (number: string) => {
    const of = describeNumber(number);
    return of.country === undefined ? of.shown : `${of.shown}, ${countryName(of.country)}`;
  };
  return {
    readOne(text) {
      const read = readNumber(text, country);
      return "reason" in read ? read : { ...read, shown: describe(read.number) };
    },
    readMany: (text) => readNumbers(text, country),
    describe,
    country: country && countryName(country),
  };
}

const countries = new Intl.DisplayNames(undefined, { type: "region" });

/** Names a country: `United States`. */
export function countryName(code: string): string {
  return countries.of(code) ?? code;
}
