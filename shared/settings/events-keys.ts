import { type RotatedKeys, parseKeys } from "../lib/rotated-keys.ts";

const first = "EVENTS_KEY";

/** True for the name of a secret that holds a key of events: `EVENTS_KEY`, and after rotations `EVENTS_KEY_2` and so on. */
export function isEventsKey(name: string): boolean {
  return /^EVENTS_KEY(_[1-9]\d{0,8})?$/.test(name);
}

/**
 * Returns the names of the secrets that hold keys of events, the current one first. The order is in the names, so
 * that a key can be added beside another one, and retired, on a platform that shows no secret again.
 */
export function listEventsKeys(names: readonly string[]): string[] {
  return names.filter(isEventsKey).toSorted((one, other) => numberIn(other) - numberIn(one));
}

/** Returns the name of the secret that follows another one. */
export function eventsKeyAfter(name: string | undefined): string {
  return name === undefined ? first : `${first}_${numberIn(name) + 1}`;
}

const numberIn = (name: string) => Number(name.slice(first.length + 1) || 1);

/**
 * Returns the keys from which the secrets of clients' own receivers are derived. While they are rotated there are two.
 *
 * @throws if there is none, or one that is malformed
 */
export function readEventsKeys(environment: Record<string, string | undefined>): RotatedKeys {
  const names = listEventsKeys(Object.keys(environment).filter((one) => environment[one]));
  if (names.length === 0) throw new Error(`${first} is not set: 32 random bytes in hex`);
  const [current = "", former] = names.map((name) => checkEventsKey(environment[name] ?? "", name));
  return { current, former };
}

/** Returns a key in small letters. @throws if it is malformed, or is two */
export function checkEventsKey(text: string, name: string): string {
  const { current, former } = parseKeys(text, name);
  if (former !== undefined)
    throw new Error(`${name} holds one key: rotate it, which adds another secret`);
  return current;
}
