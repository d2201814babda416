import { eventsKeyAfter, listEventsKeys } from "#shared/settings/events-keys.ts";
import { createHashKey } from "./hash-key.ts";
import { alone, type SecretStore } from "./secret-names.ts";
import { DeployError, type Tools } from "./tools.ts";

/** Names of the keys of events that every function has, the current one first. */
const heldKeys = async (held: SecretStore) =>
  listEventsKeys(await (held.wholeNames ?? held.names)());

/**
 * Adds a new key of events in a separate secret beside the current one, which nobody needs to know. Run again, it
 * completes a rotation that was interrupted between two functions.
 *
 * @throws DeployError if there is none, or a former one too
 */
export async function rotateEventsKey(
  { print }: Pick<Tools, "print">,
  store: SecretStore,
): Promise<void> {
  await alone(store, async (held) => {
    const [current, former] = await heldKeys(held);
    if (current === undefined) {
      throw new DeployError("No EVENTS_KEY is set: the deploy command sets it.");
    }
    if (former !== undefined) {
      throw new DeployError(
        `${former} is still there. Retire it first: npm run secrets -- retire EVENTS_KEY`,
      );
    }
    const next = eventsKeyAfter(current);
    await held.set({ [next]: createHashKey() }, { keeps: [next] });
  });
  print(
    "Events of clients' own receivers are signed under both keys now. Clients see rotate_secret and rotate their secrets; " +
      "npm run events -- list names those that have not. Then retire the former key: npm run secrets -- retire EVENTS_KEY",
  );
}

/**
 * Removes all keys of events but the current one: events to receivers whose secrets are older fail their verification.
 *
 * @throws DeployError if there is one key, or a function lacks the current one
 */
export async function retireEventsKey(
  { print }: Pick<Tools, "print">,
  store: SecretStore,
): Promise<void> {
  await alone(store, async (held) => {
    const [current, ...former] = listEventsKeys(await held.names());
    if (current === undefined || former.length === 0) {
      throw new DeployError("EVENTS_KEY has no former key: npm run secrets -- rotate EVENTS_KEY");
    }
    if (!(await heldKeys(held)).includes(current)) {
      throw new DeployError(
        `A rotation was cut off before every function had ${current}. Complete it first: npm run secrets -- rotate EVENTS_KEY`,
      );
    }
    await held.remove(former);
  });
  print("Events are signed under the current key alone, within minutes.");
}
