/** A change of a country's numbers, after which some have another number: the same phone rings. */
interface Renumbering {
  former: RegExp;
  canonical: string;
  /** The opposite. */
  of: RegExp;
  formerly: string;
}

/** This list only grows, as lists, caps and rows keep hashes of numbers as they were written. */
const renumberings: readonly Renumbering[] = [
  // Mexico has dialed mobile numbers without the 1 since 3 August 2019 (IFT, Plan Técnico Fundamental de Numeración).
  {
    former: /^\+521(\d{10})$/,
    canonical: "+52$1",
    of: /^\+52(\d{10})$/,
    formerly: "+521$1",
  },
];

/** Characters of the shortest former form. */
const formerLengthMin = "+521".length + 10;

/** Returns the form of an E.164 number by today's numbering plan. Equal for all forms of a number. */
export function toCanonical(phoneNumber: string): string {
  if (phoneNumber.length < formerLengthMin) return phoneNumber; // nearly all are
  const found = renumberings.find(({ former }) => former.test(phoneNumber));
  if (found !== undefined) return phoneNumber.replace(found.former, found.canonical);
  return phoneNumber;
}

/** Returns every form that a number has ever had, the canonical one first. */
export function formsOf(phoneNumber: string): string[] {
  const canonical = toCanonical(phoneNumber);
  const former = renumberings.filter(({ of }) => of.test(canonical));
  return [canonical, ...former.map(({ of, formerly }) => canonical.replace(of, formerly))];
}
