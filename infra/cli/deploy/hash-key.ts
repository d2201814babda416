import { randomBytes } from "node:crypto";
import { listKeys, nameOfKey, parseKeys } from "#shared/lib/rotated-keys.ts";
import { alone, type SecretStore } from "./secret-names.ts";
import { DeployError, type Tools } from "./tools.ts";

type Surroundings = Pick<Tools, "environment" | "print">;

/** Parses a HASH_KEY. @throws DeployError with what is wrong with it, which quotes nothing */
export function checkHashKey(value: string): ReturnType<typeof parseKeys> {
  try {
    return parseKeys(value, "HASH_KEY");
  } catch (error) {
    throw new DeployError(`${error instanceof Error ? error.message : "wrong HASH_KEY"}.`);
  }
}

/** Returns HASH_KEY of the environment in small letters, where it is there. @throws DeployError if it cannot be right */
export function givenHashKey({ environment }: Surroundings): string | undefined {
  const given = environment["HASH_KEY"];
  return given === undefined ? undefined : listKeys(checkHashKey(given)).join(" ");
}

/** Creates a HASH_KEY or an EVENTS_KEY. */
export const createHashKey = (): string => randomBytes(32).toString("hex");

const safe =
  "It belongs in a safe: without it the do-not-call list and every hash of a number mean nothing.";

/** Prints a new key once, before it is in use. Where the output is logged, as in CI, it is not shown. */
export function showHashKey({ environment, print }: Surroundings, key: string): void {
  print(
    environment["CI"]
      ? "HASH_KEY is new, and not shown here, as this output is logged. Make one yourself and pass it in the environment " +
          `of the first run to have a copy. ${safe}`
      : `HASH_KEY, shown only now: ${key}\n${safe}`,
  );
}

/**
 * True if a HASH_KEY may replace another one without further questions: it is the same, or adds a new key. Everything
 * that is hashed can still be recognized. If a former key is retired too early, all dialing stops: the operator must
 * know that.
 */
export function mayFollow(current: string, next: string): boolean {
  const [now, then] = [current.toLowerCase(), next.toLowerCase()];
  return then === now || then.endsWith(` ${now}`);
}

export const hashKeyStays =
  "Another HASH_KEY is set, and numbers are known by their hashes under it. To add a new one beside it: npm run " +
  "secrets -- rotate HASH_KEY. To set that of a ledger that was kept, or to retire the former of two keys: add --replace.";

/**
 * Adds a new HASH_KEY: the current one becomes the former one, which only reads. The new key is shown once, before it
 * is set.
 *
 * @param ask asks for the current key where the platform does not show it
 * @throws DeployError if none is set, two are, or the current one is surely not what was given
 */
export async function rotateHashKey(
  tools: Surroundings,
  store: SecretStore,
  ask: () => Promise<string>,
): Promise<void> {
  const { print, environment } = tools;
  if (environment["CI"]) {
    throw new DeployError(
      "HASH_KEY is not rotated here, as this output, which shows it, is logged.",
    );
  }
  if (!(await store.names()).includes("HASH_KEY")) {
    throw new DeployError("No HASH_KEY is set: npm run secrets -- set HASH_KEY");
  }
  const current =
    store.read === undefined
      ? (givenHashKey(tools) ?? (await ask()))
      : ((await store.read("HASH_KEY")) ?? "");
  if (checkHashKey(current).former !== undefined) {
    throw new DeployError(
      "HASH_KEY still has a former key. Retire it first: npm run calls -- dnc retire-former-key",
    );
  }
  await alone(store, async (held) => {
    const names = (await held.keyNames?.()) ?? [];
    if (names.some((name) => name !== nameOfKey(current))) {
      throw new DeployError(
        "That is not the only key in use: perhaps somebody else has rotated it. Give the current one. If a rotation was cut " +
          "off, set both keys, the new one first: npm run secrets -- set HASH_KEY --replace",
      );
    }
    const next = createHashKey();
    showHashKey(tools, next);
    print(
      "If this is cut off: set both keys, the new one first and a space between them, by npm run secrets -- set HASH_KEY --replace",
    );
    await held.set({ HASH_KEY: `${next} ${current}` });
  });
  print(
    "Numbers are known under both keys now. Calls may wait for some minutes, until every process has both. After the " +
      "retention, retire the former key: npm run calls -- dnc retire-former-key",
  );
}
