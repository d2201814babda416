import type { CallsMessage } from "./messages.ts";

/** A message that is JSON already. */
export class MessageText {
  readonly json: string;
  constructor(json: string) {
    this.json = json;
  }
}

/** Returns the JSON of a message. */
export function jsonOf(message: unknown): string {
  return message instanceof MessageText ? message.json : JSON.stringify(message);
}

/**
 * Composes the message of an accepted request around the text of its body, which has passed the schema as it is. To
 * write a batch as JSON once more was a quarter of accepting it.
 *
 * @param text the body: a call, or an array of them
 */
export function requestMessage(
  request: Pick<CallsMessage, "requestId" | "client" | "acceptedAt">,
  text: string,
  isBatch: boolean,
): MessageText {
  const { requestId, client, acceptedAt } = request;
  const head = JSON.stringify({ kind: "request", requestId, client, acceptedAt });
  const parts = [head.slice(0, -1), ',"requests":', isBatch ? text : `[${text}]`, "}"];
  return new MessageText(parts.join(""));
}
