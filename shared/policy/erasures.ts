import type { DocumentKey } from "../ports/document-kinds.ts";

/** Names the document of a number's erasure. */
export function erasureKeyOf(numberHash: string): DocumentKey<"erasure"> {
  return { kind: "erasure", key: numberHash };
}
