import type { CallsMessage } from "./call-messages.ts";

/** A message that is JSON already. */
export class MessageText {
  readonly json: string;
  constructor(json: string) {
    this.json = json;
  }
}

/** Returns the JSON of a message. */
export function toJson(message: unknown): string {
  return message instanceof MessageText ? message.json : JSON.stringify(message);
}

/**
 * Composes the message of an accepted request around the text of its body, which has passed the schema as it is. To
 * write a batch as JSON once more was a quarter of accepting it.
 *
 * @param body.text the body: a call, or an array of them
 */
export function createRequestMessage(
  request: Pick<CallsMessage, "requestId" | "client" | "acceptedAt">,
  { text, isBatch }: { text: string; isBatch: boolean },
): MessageText {
  const { requestId, client, acceptedAt } = request;
  // Written out, as an object for it would cost as much as the rest. Only a client's name has to be escaped.
  const head = `{"kind":"request","requestId":"${requestId}","client":${JSON.stringify(client)},"acceptedAt":${acceptedAt}`;
  return new MessageText([head, ',"requests":', isBatch ? text : `[${text}]`, "}"].join(""));
}
