import type { LambdaEvent } from "hono/aws-lambda";

/** Host of the URL of every request. */
const host = "api.invalid";

/** Parts of a path that the URL parser changes: dot segments, backslashes, tabs and line ends. */
const resolvedParts = /(?<=\/)(?:\.|%2e){1,2}(?=\/|$)|[\\\t\n\r]/gi;

/**
 * Normalizes an event of any source for Hono's adapter:
 *
 * - The path loses the stage of an HTTP API, which API Gateway leaves in front (`/prod/v1/calls`; not the stage
 * `$default`), and the base path of a custom domain.
 * - The path stays as whoever stands in front has seen it. The adapter's URL would resolve `/v1/../operator`, and leave out a
 * tab: a firewall rule for `/operator` would miss both.
 * - The host is replaced, as no route reads it. The adapter would print a URL that cannot be parsed, such as one with a
 * space in `Host`, although its path may have the code of a callback.
 * - A GET or HEAD loses its body, for which the adapter would answer 400, as a Request must not have one.
 * - A header that is empty or not printable ASCII becomes an empty one. The adapter would drop the former and encode
 * the latter, so that a malformed Idempotency-Key would count as none, or as another. Tabs stay, as they are allowed
 * in headers (RFC 9110, 5.5), and the routes decide.
 * - Headers of one name become one, joined by commas (RFC 9110, 5.3), as in payload 2.0. The adapter would join those
 * of a load balancer by semicolons, so that two keys would count as one.
 */
export function adaptEvent(event: LambdaEvent, basePath = ""): LambdaEvent {
  const context: object | undefined = "requestContext" in event ? event.requestContext : undefined;
  const stage =
    context !== undefined && "stage" in context && typeof context.stage === "string"
      ? context.stage
      : "$default";
  const strip = (path: string) =>
    without(without(path, stage === "$default" ? "" : `/${stage}`), basePath.replace(/\/+$/, ""))
      .replace(/^(?!\/)/, "/")
      .replace(resolvedParts, (part) => encodeURIComponent(part.replaceAll(".", "%2e")));
  const adapted =
    "rawPath" in event
      ? { ...event, rawPath: strip(event.rawPath) }
      : { ...event, path: strip(event.path) };
  Object.assign(adapted, { requestContext: { ...context, domainName: host } });
  const method = "httpMethod" in event ? event.httpMethod : methodIn(context);
  for (const [name, value] of Object.entries(adapted.headers ?? {})) {
    if (typeof value === "string" && !isPrintable(value)) {
      Object.assign(adapted, { headers: { ...adapted.headers, [name]: " " } });
    }
  }
  if ("multiValueHeaders" in adapted) {
    for (const [name, values] of Object.entries(adapted.multiValueHeaders ?? {})) {
      if (values === undefined) continue;
      const joined = values.every(isPrintable) ? values.join(", ") : " ";
      const multiValueHeaders = { ...adapted.multiValueHeaders, [name]: [joined] };
      Object.assign(adapted, { multiValueHeaders });
    }
  }
  return method === "GET" || method === "HEAD" ? { ...adapted, body: null } : adapted;
}

function isPrintable(value: string): boolean {
  return /^[\t\x20-\x7e]+$/.test(value);
}

/** Returns `path` without `prefix`, if that ends at a slash or at the end of `path`. */
function without(path: string, prefix: string): string {
  if (prefix === "" || !`${path}/`.startsWith(`${prefix}/`)) return path;
  return path.slice(prefix.length) || "/";
}

function methodIn(context: object | undefined): unknown {
  if (context === undefined || !("http" in context)) return undefined;
  const { http } = context;
  return typeof http === "object" && http !== null && "method" in http ? http.method : undefined;
}
