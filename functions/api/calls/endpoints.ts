import {
  batchCallsMax,
  batchSchema,
  type CallRequest,
  singleSchema,
} from "#shared/calls/call-request.ts";
import type { JsonStructure } from "../http/json-structure.ts";
import type * as z from "#shared/lib/zod.ts";

/** Description of an endpoint, from which its route and the OpenAPI document are made. */
export interface Endpoint {
  path: "/v1/calls" | "/v1/calls/batch";
  operationId: string;
  summary: string;
  body: z.ZodMiniType<CallRequest | CallRequest[]>;
  /** Maximum bytes of the body. */
  bytesMax: number;
  /** Structure of a large body; absent where none may be large. */
  structure?: JsonStructure;
}

/** The two endpoints of clients. */
export const endpoints: readonly Endpoint[] = [
  {
    path: "/v1/calls",
    operationId: "createCall",
    summary: "Accept one call",
    body: singleSchema,
    // Room for a context of 32 KiB with escapes, and the other fields.
    bytesMax: 64 * 1024,
  },
  {
    path: "/v1/calls/batch",
    operationId: "createCalls",
    summary: "Accept up to 10,000 calls", // toLocaleString would load the tables of Intl at each start
    body: batchSchema,
    // As base64 it is below the limit of API Gateway and Lambda (6 MB).
    bytesMax: 4 * 1024 * 1024,
    // Calls, fields of a call, entries of a context. The schema allows fewer fields and entries, but names each problem.
    structure: {
      levels: [
        [batchCallsMax, "calls"],
        [200, "fields in a call"],
        [1_000, "entries in a context"],
      ],
      // The shortest call with a context has 27 for each of its two.
      bytesPerBracketMin: 20,
    },
  },
];
