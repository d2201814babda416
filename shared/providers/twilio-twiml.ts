import type { CallRequest } from "../calls/call-request.ts";

/** Target of an answered call: one of both. */
interface Target {
  /** WebSocket that takes the call's audio. */
  stream?: string | undefined;
  /** URL that serves TwiML. */
  answerUrl?: string | undefined;
}

/** Returns the instructions for the call: TwiML, or the URL that serves it. */
export function instructions(
  id: string,
  request: CallRequest,
  { stream, answerUrl }: Target,
): Record<string, string> {
  if (stream !== undefined) return { Twiml: twimlOf(id, request, stream) };
  const url = new URL(answerUrl ?? "");
  url.searchParams.set("call_id", id);
  return { Url: url.href };
}

function twimlOf(id: string, { agent_id, context = {} }: CallRequest, stream: string): string {
  const parameters = Object.entries({ ...context, call_id: id, agent_id }).map(
    ([name, value]) => `<Parameter name="${xmlText(name)}" value="${xmlText(value)}"/>`,
  );
  const inner = `<Stream url="${xmlText(stream)}">${parameters.join("")}</Stream>`;
  return `<Response><Connect>${inner}</Connect></Response>`;
}

/**
 * Escapes text for an attribute. Unescaped tabs and line breaks, including those that only XML 1.1 knows, would be
 * read as spaces (XML 1.0, section 3.3.3; XML 1.1, section 2.11).
 */
function xmlText(text: string): string {
  return text.replaceAll(
    /[&<>"'\t\n\r\u0085\u2028]/g,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}

/** Maximum length of `Twiml` (Twilio error 32018). */
const twimlCharactersMax = 4000;

/** Name and value of a `<Parameter>` together must be shorter than this (Twilio's reference of `<Stream>`). */
const parameterCharactersMax = 500;

/** Parameters beside those of the context. */
const ownParameters = new Set(["call_id", "agent_id"]);

/** Characters that no XML document can hold, escaped or not (XML 1.0, section 2.2). */
// oxlint-disable-next-line no-control-regex -- control characters are the ones to find
const notInXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** Describes why TwiML could not carry a call's context whole, or undefined. */
export function contextProblem(
  request: CallRequest,
  stream: string | undefined,
): string | undefined {
  const context = Object.entries(request.context ?? {});
  if (context.length === 0) return undefined;
  if (stream === undefined) return "must be empty: this agent's answerUrl cannot carry it";
  for (const [name, value] of context) {
    if (name === "") return "must not have an empty key, for Twilio";
    if (ownParameters.has(name)) return `must not have the key ${name}, which is the call's own`;
    if (notInXml.test(name + value)) {
      return "must not have control characters, which Twilio cannot carry";
    }
    if (name.length + value.length >= parameterCharactersMax) {
      return `must have keys and values of less than ${parameterCharactersMax} characters together, each, for Twilio`;
    }
  }
  const twiml = twimlOf(`call_${"0".repeat(32)}`, request, stream);
  return twiml.length > twimlCharactersMax
    ? `is too large for Twilio: ${twiml.length} characters as TwiML, at most ${twimlCharactersMax}`
    : undefined;
}
