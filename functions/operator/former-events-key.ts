import { formerSecretMs } from "#shared/dial-plan/client-receiver-secrets.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import type { RouteDeps } from "../api/http/context.ts";

/** Clients whose receivers are read at once, and receivers that an answer names. */
const clientsAtOnce = 1_000;
const namesMax = 10;

/** A client's own receiver; `*` for all of a client, which a later version of this service has written. */
interface ClientReceiver {
  client: string;
  name: string;
}

/**
 * Finds clients' own receivers to which events are signed under the former EVENTS_KEY: their secrets were shown before its
 * rotation, or have replaced such a one within the last day.
 *
 * @returns the first ones; undefined while there is one key
 */
export async function findFormerSecrets({
  documents,
  eventsKeys,
  clock,
}: RouteDeps): Promise<ClientReceiver[] | undefined> {
  if (eventsKeys.former === undefined) return undefined;
  const current = nameOfKey(eventsKeys.current);
  const found: ClientReceiver[] = [];
  for (let after: string | undefined; ;) {
    const page = await documents.list("receivers", { after, limit: clientsAtOnce });
    for (const document of page) {
      const client = document.key;
      if (!isReadable(document)) {
        found.push({ client, name: "*" });
        continue;
      }
      for (const [name, { secretKey, rotatedAt = 0 }] of Object.entries(document.value.receivers)) {
        const isRotated = secretKey === current && clock.now() >= rotatedAt + formerSecretMs;
        if (!isRotated) found.push({ client, name });
      }
    }
    if (page.length < clientsAtOnce || found.length >= namesMax) return found.slice(0, namesMax);
    after = page.at(-1)?.key;
  }
}
