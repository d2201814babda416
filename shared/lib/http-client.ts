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
   * True if a client chose the URL: the connection is made to a public address only (public-address.ts). Workers reach no
   * private network, so there it is not looked at.
   */
  isPublicOnly?: boolean;
  /**
   * Returns false to keep the request from leaving. It is called once the connection is open, in the same turn of the
   * event loop that writes the request. Workers do not show when a connection is open: there it is called right before
   * `fetch`, once the request is one of the six that may be under way.
   */
  mayLeave?: () => boolean;
}

/** Thrown instead of sending a request that `mayLeave` refuses. Nothing of the request has left. */
export class Withheld extends Error {}

/**
 * Sends a request exactly once. Resolves once status and headers have arrived. `fetch` is one such function.
 *
 * @throws Withheld; the signal's reason; or a TypeError whose `cause` is the network error, as Node's `fetch` does
 */
export type Send = (url: string, request: OutgoingRequest) => Promise<Response>;
