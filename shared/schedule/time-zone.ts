/** Names `Intl` has confirmed, in lower case: bounded by the number of zones there are. */
const knownNames = new Set<string>();

/**
 * Whether `text` names a time zone: an IANA name or alias in any case (`US/Eastern`), `UTC`, `Z`, or a
 * fixed offset `±HH:MM` between -12:00 and +14:00, the offsets in civil use.
 */
export function isTimeZone(text: string): boolean {
  const offset = /^([+-])(\d\d):([0-5]\d)$/.exec(text);
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return minutes <= (offset[1] === "-" ? 12 * 60 : 14 * 60);
  }
  if (text === "Z") return true;
  // Intl takes offsets in other spellings too; only names are looked up.
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/.test(text)) return false;
  const name = text.toLowerCase();
  if (knownNames.has(name)) return true;
  try {
    Intl.DateTimeFormat("en", { timeZone: text }); // throws a RangeError where it knows no such zone
    knownNames.add(name);
    return true;
  } catch {
    return false;
  }
}
