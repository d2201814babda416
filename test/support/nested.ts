/** Returns JSON nested to the given depth, in arrays or in objects. */
export function nested(depth: number, open = "[", close = "]", innermost = ""): string {
  return open.repeat(depth) + innermost + close.repeat(depth);
}
