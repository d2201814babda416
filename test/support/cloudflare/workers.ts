import type { Answerer, Script } from "./holdings.ts";
import { type ApiAnswer, type ApiRequest, refuse } from "./endpoint.ts";

const notFound = () => refuse(404, 10007, "This Worker does not exist on your account.");

/** Answers requests about Workers. */
export const answerWorkers: Answerer = ({ scripts, queues }, request) => {
  const { method, path } = request;
  if (path === "/workers/subdomain") return { result: { subdomain: "ada" } };
  if (path === "/workers/assets/upload") return { status: 201, result: { jwt: "assets" } };
  const [, service] = /^\/workers\/services\/([^/]+)$/.exec(path) ?? [];
  if (service !== undefined && method === "DELETE") {
    const consumes = [...queues.values()].some(({ consumers }) =>
      consumers.some(({ script }) => script === service),
    );
    if (consumes)
      return refuse(400, 10064, "Cannot delete this Worker as it is a consumer for a Queue.");
    return scripts.delete(service) ? { result: null } : notFound();
  }
  if (path === "/storage/kv/namespaces") return { result: [] };
  if (service !== undefined)
    return scripts.has(service) ? { result: serviceOf(service) } : notFound();
  const [, worker] = /^\/workers\/workers\/([^/]+)$/.exec(path) ?? [];
  if (worker !== undefined) {
    const found = scripts.get(worker);
    return found
      ? { result: { id: worker, name: worker, subdomain: found.subdomain } }
      : notFound();
  }
  const [, name, rest = ""] = /^\/workers\/scripts\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  if (name === undefined) return undefined;
  if (rest === "/assets-upload-session")
    return { status: 201, result: { jwt: "assets", buckets: [] } };
  const script = scripts.get(name);
  if (method === "PUT" && rest === "") {
    const made = script ?? create();
    made.versions.push(JSON.parse(request.parts.get("metadata") ?? "{}"));
    scripts.set(name, made);
    return { result: { id: name, etag: "e", deployment_id: "d", startup_time_ms: 1 } };
  }
  return script === undefined ? notFound() : answerScript(script, rest, request);
};

/** Returns a Worker without code, as its first secret makes it. */
export const create = (): Script => ({
  secrets: new Map(),
  versions: [],
  crons: [],
  settings: undefined,
  subdomain: { enabled: false, previews_enabled: true }, // as of old Workers
});

const serviceOf = (name: string) => ({
  id: name,
  default_environment: { environment: "production", script: { last_deployed_from: "wrangler" } },
});

function answerScript(
  script: Script,
  rest: string,
  { method, parts }: ApiRequest,
): ApiAnswer | undefined {
  const body = () => JSON.parse(parts.get("body") ?? "{}");
  if (rest === "/secrets") {
    return { result: [...script.secrets.keys()].map((name) => ({ name, type: "secret_text" })) };
  }
  if (rest === "/secrets-bulk") {
    const { secrets } = body();
    for (const [name, one] of Object.entries<{ text: string } | null>(secrets)) {
      if (one === null) script.secrets.delete(name);
      else script.secrets.set(name, one.text);
    }
    return { result: {} };
  }
  if (rest === "/subdomain") {
    if (method === "POST") script.subdomain = body();
    return { result: script.subdomain };
  }
  if (rest === "/schedules") {
    if (method === "PUT") script.crons = body();
    return { result: { schedules: [] } };
  }
  if (rest === "/versions" && method === "POST") {
    script.versions.push(JSON.parse(parts.get("metadata") ?? "{}"));
    const resources = { script: { etag: "e" }, script_runtime: {} };
    return { result: { id: `v${script.versions.length}`, startup_time_ms: 1, resources } };
  }
  if (rest === "/deployments" && method === "POST") return { result: { id: "d" } };
  if (rest === "/deployments") {
    const versions = [{ version_id: `v${script.versions.length}`, percentage: 100 }];
    const made = { id: "d", source: "wrangler", versions, created_on: "2026-11-27T00:00:00Z" };
    return { result: { deployments: script.versions.length === 0 ? [] : [made] } };
  }
  if (rest === "/script-settings" && method === "PATCH") script.settings = body();
  if (rest === "/settings" || rest === "/script-settings") return { result: { bindings: [] } };
  return undefined;
}
