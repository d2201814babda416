/** Returns a text as one word of a POSIX shell's command: in quotes where it needs them. */
export function toShellWord(text: string): string {
  return /^[\w=.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
