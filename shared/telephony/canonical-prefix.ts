import { toCanonical } from "./renumbered.ts";

/** Maximum characters of an E.164 number. */
const charactersMax = 16;

/** Returns where the numbers begin by today's numbering plan that begin with a prefix in a former form. */
export function toCanonicalPrefix(prefix: string): string {
  for (let length = prefix.length; length <= charactersMax; length++) {
    const number = prefix.padEnd(length, "0");
    const canonical = toCanonical(number);
    if (canonical === number) continue;
    return canonical.slice(0, prefix.length + canonical.length - number.length);
  }
  return prefix;
}
