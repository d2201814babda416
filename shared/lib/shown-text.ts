/**
 * Control characters of C0 (without tab and the end of a line) and C1, and those that change the direction of text or end a
 * line elsewhere. They could rewrite a terminal, or show a name as another one.
 */
const controls =
  // oxlint-disable-next-line no-control-regex -- these are meant
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Returns a text for people to read, with its control characters in the spelling of JSON, such as `\u001b`. */
export function shownText(text: string): string {
  return text.replace(controls, (one) => {
    return `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
