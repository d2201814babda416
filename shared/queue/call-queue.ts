import type { Message } from "./messages.ts";

/** Longest delay a message is sent with; whatever waits longer is a row of the ledger, not a message. */
export const delaySecondsMax = 120;

/** Where accepted calls wait for the dialer: at least once, in no particular order. */
export interface CallQueue {
  /** Resolves once the message is durable. A rejection means that it may or may not be. */
  send(message: Message, delaySeconds?: number): Promise<void>;
  /**
   * Sends many, in order. Answers with how many from the front are durable; whether any of the others are
   * is not known, so they are sent again.
   */
  sendMany(messages: readonly { message: Message; delaySeconds?: number }[]): Promise<number>;
}

/** A message as the queue delivers it to the dialer. */
export interface Delivered {
  /** Of this delivery, from 1. */
  attempt: number;
  /** Names the message in the object store, should it have to be kept there. */
  id: string;
  /** Whether its body lies in object storage: bringing and reading it takes a while. */
  large: boolean;
  /** Brings the body's text, from object storage where it lies there. What it is has yet to be parsed. */
  open(): Promise<string>;
}

/** What becomes of a delivered message: it is done with, or it comes again. */
export type AckOrRetry = "ack" | { retryAfterSeconds: number };
