import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { ApiEnv } from "./context.ts";
import { findExcess, type JsonStructure } from "./json-structure.ts";
import { type ProblemError, answerUnprocessable } from "./problem.ts";

/** A JSON body: its bytes, their text, and its value. */
export interface JsonBody {
  bytes: Uint8Array;
  text: string;
  value: unknown;
}

/** Limits of a body: its bytes, and the structure of a large one. */
export interface BodyLimits {
  bytesMax: number;
  structure?: JsonStructure | undefined;
}

/**
 * Creates a middleware that reads a JSON body with `readBody` for the validator after it.
 *
 * @param isOptional true if an absent body means `{}`, whatever the headers
 */
export function readJson({ isOptional = false, ...limits }: BodyLimits & { isOptional?: boolean }) {
  return createMiddleware<ApiEnv>(async (c, next) => {
    const body = await readBody(c, { ...limits, isOptional });
    if (body instanceof Response) return body;
    // The validator calls `json`. Hono's would parse the body a second time.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its caller names any type
    c.req.json = async <Body>() => body.value as Body;
    return next();
  });
}

/**
 * Reads a JSON body of at most `bytesMax` bytes, or returns the answer 422: another content type, any
 * Content-Encoding, a larger body, one that breaks off, invalid UTF-8, malformed JSON. The contract of these routes has no 400, 413 or
 * 415, which Hono's readers would answer.
 */
export async function readBody(
  c: Context<ApiEnv>,
  { bytesMax, structure, isOptional = false }: BodyLimits & { isOptional?: boolean },
): Promise<JsonBody | Response> {
  const wrongHeader = wrongHeaderOf(c);
  if (wrongHeader !== undefined && !isOptional) return answerUnprocessable(c, [wrongHeader]);
  // A client that hangs up is not a failure of the service.
  const bytes = await readAtMost(c, bytesMax).catch(() => "broken" as const);
  if (bytes === "broken") {
    return answerUnprocessable(c, [{ pointer: "", detail: "was cut off" }]);
  }
  if (bytes === undefined) {
    return answerUnprocessable(c, [{ pointer: "", detail: `must be at most ${bytesMax} bytes` }]);
  }
  if (isOptional && bytes.byteLength === 0) return { bytes, text: "{}", value: {} };
  if (wrongHeader !== undefined) return answerUnprocessable(c, [wrongHeader]);
  const excess = structure && findExcess(bytes, structure);
  if (excess !== undefined) return answerUnprocessable(c, [{ pointer: "", detail: excess }]);
  const json = parseJson(bytes);
  return "detail" in json ? answerUnprocessable(c, [{ pointer: "", detail: json.detail }]) : json;
}

function wrongHeaderOf(c: Context): ProblemError | undefined {
  const type = c.req.header("content-type") ?? "";
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type)) {
    const detail = "must be application/json, its charset utf-8 if any";
    return { header: "Content-Type", detail };
  }
  return c.req.header("content-encoding") === undefined
    ? undefined
    : { header: "Content-Encoding", detail: "must not be set" };
}

/**
 * Reads the body; undefined if it is longer than `bytesMax`. A body with a Content-Length is read whole, at a
 * fraction of the cost of a stream, which Hono's body limit always reads. Any other body is streamed, up to
 * `bytesMax`.
 */
export async function readAtMost(c: Context, bytesMax: number): Promise<Uint8Array | undefined> {
  const stated = c.req.header("content-length");
  if (stated !== undefined && c.req.header("transfer-encoding") === undefined) {
    if (Number(stated) > bytesMax) return undefined;
    const bytes = new Uint8Array(await c.req.raw.arrayBuffer());
    return bytes.byteLength > bytesMax ? undefined : bytes;
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of c.req.raw.body ?? []) {
    size += chunk.byteLength;
    if (size > bytesMax) return undefined; // leaving the loop cancels the rest
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

function parseJson(bytes: Uint8Array): JsonBody | { detail: string } {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { detail: "must be UTF-8" };
  }
  try {
    return { bytes, text, value: JSON.parse(text) };
  } catch {
    return { detail: "must be JSON" };
  }
}
