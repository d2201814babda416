import type { IncomingHttpHeaders } from "node:http";
import * as z from "#shared/lib/zod.ts";
import type { Calls } from "./calls.ts";

/** A request as it came, byte for byte. */
export interface StandInRequest {
  method: string;
  /** Path without the query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  text: string;
}

/** An answer of a stand-in, in its provider's form. */
export interface StandInAnswer {
  status: number;
  /** Value that is sent as JSON. Undefined: no body. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Purpose of a request, by which failures are chosen: only a `call` may make a phone ring. */
export type Purpose = "call" | "look_up" | "dispatch";

/** Faults of a request that have an error form of their own at most providers. */
export type Fault = "credentials" | "address" | "form";

/** A request's fault, in words that quote none of its values. */
interface Problem {
  fault: Fault;
  text: string;
  /** Path of the field, for providers that name it. */
  field: string[];
}

/** One endpoint of a provider, as its reference has it. */
export interface Endpoint {
  method: "GET" | "POST" | "PUT";
  path: RegExp;
  purpose: Purpose;
  /** Returns the problem of a request to this endpoint, or a function that performs it. */
  read(request: StandInRequest): { problem: Problem } | { perform(): StandInAnswer };
}

/** A kind of provider, as its stand-in imitates it. */
export interface StandInType {
  /** Name as in the dial plan's `type`. */
  name: string;
  /** Made-up secrets, by their names without the account's. */
  secrets: Record<string, string>;
  create(memory: Memory): {
    endpoints: Endpoint[];
    /** Returns what is wrong with the credentials of a request, or undefined. */
    credentialProblem(
      request: StandInRequest,
      purpose: Purpose,
    ): string | undefined | Promise<string | undefined>;
    /** Returns the provider's own form of an error. */
    refuse(problem: Problem): StandInAnswer;
  };
}

/** Values that an imitation works on. */
export interface Memory {
  calls: Calls;
  secrets: Record<string, string>;
  /** Current time in milliseconds since the epoch. */
  now(): number;
  settings: Settings;
}

/** Conduct of a provider's own that tests may change. */
export interface Settings {
  /** False if no worker serves the agent, so that nobody joins a room that it is dispatched to (LiveKit). */
  hasAgent: boolean;
  /** False if all lines of the account are busy, so that a call is taken and waits (Vapi). */
  hasLine: boolean;
  /** Seconds for which a phone rings, and for which a conversation lasts. */
  ringSeconds: number;
  talkSeconds: number;
  /** Seconds from the end of a call to the time for which its callee wants to be called back (`wishOf`). */
  callBackSeconds: number;
}

const noQuery = z.strictObject({});
const contentTypes = {
  json: /^application\/(json|x-amz-json-1\.1)(;\s*charset=utf-8)?$/i,
  form: /^application\/x-www-form-urlencoded(;\s*charset=utf-8)?$/i,
};

/**
 * Describes an endpoint. `body` and `query` should be strict: what the reference does not have is refused, so
 * that a misspelt field shows. Without `query`, a query is refused.
 */
export function endpoint<Body = undefined, Query = object>({
  body,
  query,
  content = "json",
  ...one
}: Pick<Endpoint, "method" | "path" | "purpose"> & {
  body?: z.ZodMiniType<Body>;
  query?: z.ZodMiniType<Query>;
  content?: "json" | "form";
  /** @param path named groups of the path */
  perform(parts: {
    body: Body;
    query: Query;
    path: Record<string, string>;
    headers: IncomingHttpHeaders;
  }): StandInAnswer;
}): Endpoint {
  return {
    ...one,
    read(request) {
      const asked = (query ?? noQuery).safeParse(recordOf(request.query));
      if (!asked.success) return problemOf("query", asked.error);
      let parsedBody: unknown;
      if (body !== undefined) {
        if (!contentTypes[content].test(request.headers["content-type"] ?? "")) {
          const text = `content-type must be that of ${content}`;
          return { problem: { fault: "form", text, field: [] } };
        }
        const parsed = body.safeParse(valueOf(request.text, content));
        if (!parsed.success) return problemOf("body", parsed.error);
        parsedBody = parsed.data;
      }
      const path = one.path.exec(request.path)?.groups ?? {};
      const parts = { body: parsedBody, query: asked.data, path, headers: request.headers };
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schemas above have made both
      return { perform: () => one.perform(parts as Parameters<typeof one.perform>[0]) };
    },
  };
}

function valueOf(text: string, content: "json" | "form"): unknown {
  if (content === "form") return recordOf(new URLSearchParams(text));
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns parameters by name; a repeated one as an array. */
function recordOf(parameters: URLSearchParams): Record<string, string | string[]> {
  const names = [...new Set(parameters.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const values = parameters.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? "") : values];
    }),
  );
}

function problemOf(place: string, { issues }: z.ZodError): { problem: Problem } {
  const texts = issues.map(({ path, message }) => `${[place, ...path].join(".")}: ${message}`);
  const field = (issues[0]?.path ?? []).map(String);
  return { problem: { fault: "form", text: texts.join("; "), field } };
}

/** A number as most providers ask for it. */
export const e164 = z.string().check(z.regex(/^\+[1-9]\d{6,14}$/, "must be in E.164 format"));
/** A text that is not empty. */
export const text = z.string().check(z.minLength(1));
/** A time as in queries. */
export const isoTime = z.iso.datetime({ offset: true });
/** A whole number as in queries. */
export const digits = z.string().check(z.regex(/^\d{1,9}$/, "must be a whole number"));

/** Returns schemas of fields that the reference has and a stand-in does not look at. */
export function unchecked<Name extends string>(
  ...names: Name[]
): Record<Name, z.ZodMiniOptional<z.ZodMiniUnknown>> {
  const fields = names.map((name) => [name, z.optional(z.unknown())] as const);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- fromEntries forgets the names
  return Object.fromEntries(fields) as Record<Name, z.ZodMiniOptional<z.ZodMiniUnknown>>;
}
