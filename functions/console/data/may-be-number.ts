/** True if a text may be a phone number, also one without its country code: no URL may contain it. */
export function mayBeNumber(text: string): boolean {
  return /\d(?:\D{0,3}\d){5}/.test(text) && !/\p{L}/u.test(text);
}
