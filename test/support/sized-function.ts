/** A function of a test, which answers with as many letters as its event asks for. */
export async function handler({ letters }: { letters: number }): Promise<string> {
  return "x".repeat(letters);
}
