import { isE164 } from "./phone-number.ts";

/**
 * Reads a phone number as people type it, with spaces, brackets, dashes, dots or slashes, and `00` for the plus sign.
 * Digits without either are taken for a number with its country code.
 *
 * @returns the number in E.164; undefined if the text is none
 */
export function readTypedNumber(text: string): string | undefined {
  const plain = text
    .trim()
    .replace(/^tel:/i, "")
    .replace(/^((?:\+|00).*)\(0\)/, "$1") // +44 (0)20 …: the 0 is dialed within the country alone
    .replaceAll(/[\s()[\]./\u2010-\u2015-]/g, "")
    .replace(/^00/, "+");
  if (!/^\+?\d{7,15}$/.test(plain)) return undefined;
  const number = plain.startsWith("+") ? plain : `+${plain}`;
  return isE164(number) ? number : undefined;
}
