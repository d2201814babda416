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
}

/**
 * Sends a request exactly once. Resolves when the status and the headers have come. `fetch` is one such function.
 *
 * @throws the signal's reason, or a TypeError whose `cause` tells what happened, as Node's `fetch` does
 */
export type Send = (url: string, request: OutgoingRequest) => Promise<Response>;
