import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import {
  formerSecretMs,
  clientReceiverSecret,
  receiverKeysOf,
} from "#shared/dial-plan/client-receiver-secrets.ts";
import { createSignatureHeaders, parseSigningKey } from "#shared/lib/standard-webhooks.ts";

const now = Date.UTC(2026, 10, 24);
const [one, other] = ["a".repeat(64), "b".repeat(64)] as const;
const receiver = { client: "crm", name: "main", secretGeneration: 5 };
const body = '{"type":"test"}';

/** True if a client that holds this secret takes a message signed now. */
function isTaken(
  secret: string,
  of: Parameters<typeof receiverKeysOf>[0],
  held = { current: one },
) {
  const keys = receiverKeysOf(of, { eventsKeys: held, now });
  const sent = createSignatureHeaders({ id: "e1", body }, { keys, now: Date.now() });
  try {
    new Webhook(secret).verify(body, sent);
    return true;
  } catch {
    return false;
  }
}

it("shows a secret of Standard Webhooks that verifies the receiver's events", () => {
  const secret = clientReceiverSecret(receiver, one);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(() => parseSigningKey(secret, "the secret")).not.toThrow();
  expect(isTaken(secret, receiver)).toBe(true);
});

it("gives every client, name, generation and EVENTS_KEY a secret of its own", () => {
  const secrets = [
    clientReceiverSecret(receiver, one),
    clientReceiverSecret(receiver, other),
    clientReceiverSecret({ ...receiver, client: "crm2" }, one),
    clientReceiverSecret({ ...receiver, name: "main2" }, one),
    clientReceiverSecret({ ...receiver, secretGeneration: 6 }, one),
    clientReceiverSecret({ ...receiver, client: 'crm","main', name: "x" }, one),
  ];
  expect(new Set(secrets).size).toBe(secrets.length);
});

it("signs with the former secret for a day after a rotation, and not with an older one", () => {
  const [older, former, current] = [4, 5, 6].map((secretGeneration) =>
    clientReceiverSecret({ ...receiver, secretGeneration }, one),
  );
  const rotated = { ...receiver, secretGeneration: 6 };
  const taken = (rotatedAt: number) =>
    [older, former, current].map((secret = "") => isTaken(secret, { ...rotated, rotatedAt }));
  expect(taken(now)).toEqual([false, true, true]);
  expect(taken(now - formerSecretMs + 1)).toEqual([false, true, true]);
  expect(taken(now - formerSecretMs)).toEqual([false, false, true]);
});

it("signs under both keys of events while there are two", () => {
  const secret = clientReceiverSecret(receiver, one);
  const both = { current: other, former: one };
  expect(isTaken(secret, receiver, both)).toBe(true);
  expect(isTaken(clientReceiverSecret(receiver, other), receiver, both)).toBe(true);
  expect(isTaken(secret, receiver, { current: other })).toBe(false);
});
