import { createServer } from "node:http";

/** A request to Cloudflare's API, read whole. */
export interface ApiRequest {
  method: string;
  /** Path below /client/v4. */
  path: string;
  query: URLSearchParams;
  /** Value of `cf-r2-jurisdiction`; empty: none. */
  jurisdiction: string;
  /** The parts of a form by their names, or `body` alone. */
  parts: Map<string, string>;
}

/** An answer: its result, or a refusal with a code and a status. */
export interface ApiAnswer {
  result?: unknown;
  status?: number;
  errors?: { code: number; message: string }[];
}

/** Cloudflare's API on this machine. */
export interface ApiEndpoint {
  url: string;
  /** Methods and paths that were asked for, in order. */
  asked: string[];
  /** Runs before and after a request. If it returns true the connection breaks and nobody is answered. */
  cut: ((asked: string, moment: "before" | "after") => boolean) | undefined;
  stop(): void;
}

export const refuse = (status: number, code: number, message: string): ApiAnswer => ({
  status,
  errors: [{ code, message }],
});

/** Starts a server that answers in the envelope of Cloudflare's API: `success`, `errors`, `result`. */
export async function startApi(answer: (request: ApiRequest) => ApiAnswer): Promise<ApiEndpoint> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const url = new URL(request.url ?? "/", endpoint.url);
      const method = request.method ?? "GET";
      const path = url.pathname.replace("/client/v4", "");
      const asked = `${method} ${path}`;
      const parts = partsOf(
        Buffer.concat(chunks).toString(),
        request.headers["content-type"] ?? "",
      );
      endpoint.asked.push(asked);
      if (endpoint.cut?.(asked, "before") === true) return void request.socket.destroy();
      const {
        result = null,
        status = 200,
        errors = [],
      } = answer({
        method,
        path,
        query: url.searchParams,
        jurisdiction: String(request.headers["cf-r2-jurisdiction"] ?? ""),
        parts,
      });
      if (endpoint.cut?.(asked, "after") === true) return void request.socket.destroy();
      const success = errors.length === 0;
      const result_info = Array.isArray(result)
        ? { page: 1, per_page: 1000, count: result.length, total_count: result.length }
        : undefined;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ success, errors, messages: [], result, result_info }));
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const endpoint: ApiEndpoint = {
    url: `http://127.0.0.1:${port}`,
    asked: [],
    cut: undefined,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return endpoint;
}

/** Reads the parts of a form, each by its name; any other body is the part `body`. */
function partsOf(body: string, type: string): Map<string, string> {
  const [, boundary] = /boundary=([^;]+)/.exec(type) ?? [];
  if (boundary === undefined) return new Map([["body", body]]);
  const parts = body.split(`--${boundary}`).flatMap((part): [string, string][] => {
    const [, name] = /name="([^"]+)"/.exec(part) ?? [];
    const start = part.indexOf("\r\n\r\n");
    return name === undefined ? [] : [[name, part.slice(start + 4, -2)]];
  });
  return new Map(parts);
}
