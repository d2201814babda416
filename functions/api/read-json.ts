import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import type { ApiEnv } from "./app.ts";
import { unprocessable } from "./problem.ts";

/**
 * Reads a JSON body of at most `bytesMax` bytes, or answers 422: another content type, any
 * Content-Encoding, a larger body, invalid UTF-8, malformed JSON. The contract of these routes has no 400,
 * 413 or 415, which Hono's own readers would answer.
 */
export function readJson(bytesMax: number) {
  const limitBody = bodyLimit({
    maxSize: bytesMax,
    onError: (c) =>
      unprocessable(c, [{ pointer: "", detail: `must be at most ${bytesMax} bytes` }]),
  });

  return createMiddleware<ApiEnv>(async (c, next) => {
    const type = c.req.header("content-type") ?? "";
    if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type)) {
      const detail = "must be application/json, its charset utf-8 if any";
      return unprocessable(c, [{ header: "Content-Type", detail }]);
    }
    if (c.req.header("content-encoding") !== undefined) {
      return unprocessable(c, [{ header: "Content-Encoding", detail: "must not be set" }]);
    }
    let answer: Response | undefined;
    const tooLarge = await limitBody(c, async () => {
      const bytes = new Uint8Array(await c.req.arrayBuffer());
      const json = parseJson(bytes);
      if ("detail" in json) {
        answer = unprocessable(c, [{ pointer: "", detail: json.detail }]);
        return;
      }
      c.set("body", bytes);
      // What the validator asks for: Hono's own would parse the body a second time.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its caller names any type
      c.req.json = async <Body>() => json.value as Body;
      await next();
    });
    return tooLarge ?? answer;
  });
}

function parseJson(bytes: Uint8Array): { value: unknown } | { detail: string } {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return { detail: "must be UTF-8" };
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { detail: "must be JSON" };
  }
}
