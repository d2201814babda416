/** Returns a text without its byte order mark, with which JSON.parse throws (RFC 8259, section 8.1). */
export function withoutBom(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
