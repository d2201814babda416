import type { MessageText, Message } from "./call-messages.ts";

/** Maximum delay of a message. A call that waits longer is a row of the ledger, not a message. */
export const delaySecondsMax = 120;

/** A queue to the dialer: the call queue or the events queue. It delivers at least once, in no particular order. */
export interface CallQueue<Sent = Message> {
  /** Resolves once the message is durable. A rejection means that it may or may not be. */
  send(message: Sent | MessageText, delaySeconds?: number): Promise<void>;
  /**
   * Sends messages in order. Resolves to the number of messages from the front that are durable. The caller sends the
   * others again, though some of them may be durable, too.
   */
  sendMany(messages: readonly { message: Sent; delaySeconds?: number }[]): Promise<number>;
}

/** A message as the queue delivers it to the dialer. */
export interface Delivered {
  /** Number of this delivery, from 1. */
  attempt: number;
  /** Name for the message in the object store, if it must be stored as a dead letter. */
  id: string;
  /** Resolves to the text of the body, which may be in the object store. It is not parsed. */
  open(): Promise<string>;
}

/** Decision about a delivered message: acknowledge it, or have it delivered again. */
export type AckOrRetry = "ack" | { retryAfterSeconds: number };
