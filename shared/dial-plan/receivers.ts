import type { KeyObject } from "node:crypto";
import { eventTypes } from "../calls/call-event.ts";
import { type ClientOfMode, realClientOf } from "../calls/ids.ts";
import { parseSigningKeys } from "../lib/standard-webhooks.ts";
import * as z from "../lib/zod.ts";
import { httpsUrl, isLoopback } from "../lib/https-url.ts";
import {
  type ClientReceiverKey,
  clientReceiverName,
  type StoredReceiver,
} from "../ports/receiver-kinds.ts";

/** An entry of the dial plan's `events`: the receiver of a client's events. */
export const receiverSchema = z.strictObject({
  url: httpsUrl,
  types: z._default(z.array(z.enum(eventTypes)).check(z.minLength(1)), [...eventTypes]),
  /** Keys of a call's context that its events repeat. */
  echo: z._default(z.array(z.string().check(z.minLength(1))).check(z.maxLength(10)), []),
  /** Maximum rate of requests to the receiver. */
  requestsPerSecond: z._default(z.number().check(z.minimum(0.1), z.maximum(1000)), 20),
});

/**
 * A receiver of events. `name`: a client, or `*` for every client without an entry; of a client's own receiver, as
 * `clientReceiverName` makes it.
 */
export type Receiver = z.infer<typeof receiverSchema> & {
  name: string;
  /** Absent: it is one of the dial plan's. */
  own?: ClientReceiverKey & Pick<StoredReceiver, "secretGeneration" | "rotatedAt" | "createdAt">;
};

/** A receiver that a client has made itself. */
export type ClientReceiver = Receiver & Required<Pick<Receiver, "own">>;

export function isClientReceiver(receiver: Receiver): receiver is ClientReceiver {
  return receiver.own !== undefined;
}

/** Returns a client's own receivers from their document. */
export function toClientReceivers(
  client: string,
  { receivers }: { receivers: Record<string, StoredReceiver> },
): ClientReceiver[] {
  return Object.entries(receivers).map(([name, stored]) => {
    const {
      url,
      types = eventTypes,
      echo,
      requestsPerSecond,
      secretGeneration,
      rotatedAt,
      createdAt,
    } = stored;
    const own = { client, name, secretGeneration, rotatedAt, createdAt };
    return {
      name: clientReceiverName({ client, name }),
      url,
      types: eventTypes.filter((type) => types.includes(type)),
      echo,
      requestsPerSecond,
      own,
    };
  });
}

/** Name of a client's receiver that stands for all that are unreadable. No receiver has it. */
export const unreadName = "";

/**
 * Returns what stands for a client's own receivers that only a later version can read: it gets each event, which
 * `withoutGone` hands to the receivers once they can be read.
 */
export function unreadReceivers(client: string): ClientReceiver[] {
  const stored = { url: "", echo: [], requestsPerSecond: 1, secretGeneration: 0, createdAt: 0 };
  return toClientReceivers(client, { receivers: { [unreadName]: stored } });
}

/** The part of a dial plan that names receivers. */
interface PlanOfReceivers {
  events?: Record<string, z.infer<typeof receiverSchema>> | undefined;
}

/** Returns the receiver of a client's events, its test calls' among them; undefined if there is none. */
export function findReceiver(client: ClientOfMode, plan: PlanOfReceivers): Receiver | undefined {
  return findReceiverNamed(realClientOf(client), plan) ?? findReceiverNamed("*", plan);
}

/** Returns the receiver of an entry of the plan. */
export function findReceiverNamed(
  name: string,
  { events = {} }: PlanOfReceivers,
): Receiver | undefined {
  const entry = Object.hasOwn(events, name) ? events[name] : undefined;
  return entry === undefined ? undefined : { name, ...entry };
}

/** Names the secret of a receiver: `EVENTS_SECRET` for `*`, `EVENTS_CRM_EU_SECRET` for the client `crm-eu`. */
export function receiverSecret(name: string): string {
  if (name === "*") return "EVENTS_SECRET";
  return `EVENTS_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}_SECRET`;
}

/** True for a name as `receiverSecret` makes it, or `checkSecret`. */
export function isReceiverSecret(name: string): boolean {
  return /^(?:EVENTS|CHECKS)_(?:[A-Z0-9_]+_)?SECRET$/.test(name);
}

/** Returns the names of the secrets of a plan's receivers. A receiver on this machine needs none. */
export function receiverSecrets({ events = {} }: PlanOfReceivers): string[] {
  return signingSecrets(events, receiverSecret);
}

/** Returns the names of the secrets by which requests to these addresses are signed; none for those on this machine. */
export function signingSecrets(
  addresses: Record<string, { url: string }>,
  secretOf: (name: string) => string,
): string[] {
  return Object.entries(addresses).flatMap(([name, { url }]) =>
    isLoopback(url) ? [] : secretOf(name),
  );
}

/**
 * Returns the keys that sign each receiver's events; none for a receiver without a secret.
 *
 * @throws if a secret is malformed: the error names its variable
 */
export function receiverKeys(
  { events = {} }: PlanOfReceivers,
  environment: Record<string, string | undefined>,
): Map<string, KeyObject[]> {
  return signingKeys(Object.keys(events), { secretOf: receiverSecret, environment });
}

/**
 * Returns the keys that sign requests by the names of their addresses; none where there is no secret.
 *
 * @throws if a secret is malformed: the error names its variable
 */
export function signingKeys(
  names: readonly string[],
  {
    secretOf,
    environment,
  }: { secretOf(name: string): string; environment: Record<string, string | undefined> },
): Map<string, KeyObject[]> {
  return new Map(
    names.map((name) => {
      const variable = secretOf(name);
      const secrets = environment[variable];
      return [name, secrets ? parseSigningKeys(secrets, variable) : []];
    }),
  );
}

/** Maximum characters of a value that an event repeats. */
const echoCharactersMax = 256;

/** Returns the part of a call's context that its events repeat; null if nothing. Longer values are cut. */
export function echoOf(
  context: Record<string, string> | undefined,
  receiver: Pick<Receiver, "echo"> | undefined,
): Record<string, string> | null {
  const pairs = (receiver?.echo ?? []).flatMap((key) => {
    const value = context !== undefined && Object.hasOwn(context, key) ? context[key] : undefined;
    return value === undefined
      ? []
      : [[key, value.slice(0, echoCharactersMax).toWellFormed()] as const];
  });
  return pairs.length === 0 ? null : Object.fromEntries(pairs);
}
