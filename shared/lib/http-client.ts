/** A request to a provider, or to a receiver of events. */
export interface OutgoingRequest {
  /** GET by default. */
  method?: string;
  headers: Record<string, string>;
  body?: string;
  /** No redirect is followed. */
  redirect: "manual";
  /** Ends the request, or the reading of its answer. */
  signal: AbortSignal;
  /**
   * Asked as soon as the connection stands, in the same turn in which the request is written: if false, nothing leaves.
   * On Workers nothing tells that a connection stands, so there it is not asked.
   */
  mayLeave?: () => boolean;
}

/** Thrown instead of sending a request that may not leave any more: surely nothing of it has left. */
export class Withheld extends Error {}

/**
 * Sends a request exactly once. Resolves when the status and the headers have come. `fetch` is one such function.
 *
 * @throws Withheld; the signal's reason, or a TypeError whose `cause` tells what happened, as Node's `fetch` does
 */
export type Send = (url: string, request: OutgoingRequest) => Promise<Response>;
