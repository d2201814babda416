import { type ApiAnswer, type ApiEndpoint, type ApiRequest, refuse, startApi } from "./endpoint.ts";
import { type Answerer, fresh, type Holdings, type Queue } from "./holdings.ts";
import { answerStorage } from "./storage.ts";
import { answerWorkers } from "./workers.ts";

/** An account of Cloudflare on this machine. */
export interface FakeCloudflare extends Holdings {
  endpoint: ApiEndpoint;
  /** False once the login has expired. */
  isLoggedIn: boolean;
  /** Beginnings of paths, after the account, that the token has no right to. */
  denied: string[];
  /** Requests that the account cannot answer: a test is wrong then. */
  unknown: string[];
  /** Variables by which wrangler finds it. */
  environment: Record<string, string>;
}

const accountId = "a1";

/** Starts an account without anything, whose token may do everything. */
export async function startCloudflare(): Promise<FakeCloudflare> {
  const holdings: Holdings = {
    isPaid: true,
    hasR2: true,
    queues: new Map(),
    databases: new Map(),
    buckets: new Map(),
    scripts: new Map(),
  };
  const endpoint = await startApi((request) => answer(account, request));
  const account: FakeCloudflare = {
    ...holdings,
    endpoint,
    isLoggedIn: true,
    denied: [],
    unknown: [],
    environment: {
      CLOUDFLARE_API_BASE_URL: `${endpoint.url}/client/v4`,
      CLOUDFLARE_API_TOKEN: "token",
      CLOUDFLARE_ACCOUNT_ID: accountId,
    },
  };
  return account;
}

function answer(account: FakeCloudflare, request: ApiRequest): ApiAnswer {
  const { method, path } = request;
  if (!account.isLoggedIn) return refuse(401, 10000, "Authentication error");
  const result = user[path];
  if (result !== undefined) return { result };
  const own = path.replace(`/accounts/${accountId}`, "");
  if (account.denied.some((one) => own.startsWith(one))) {
    return refuse(403, 10000, "Authentication error");
  }
  const below = { ...request, path: own };
  for (const one of [answerQueues, answerStorage, answerWorkers]) {
    const found = one(account, below);
    if (found !== undefined) return found;
  }
  account.unknown.push(`${method} ${path}`);
  return refuse(404, 7003, `Could not route to ${path}`);
}

const user: Record<string, unknown> = {
  "/user/tokens/verify": { id: "t1", status: "active" },
  "/user": { id: "u1", email: "ada@example.com" },
  "/accounts": [{ id: accountId, name: "Ada" }],
  "/memberships": [{ id: "m1", account: { id: accountId, name: "Ada" } }],
};

const answerQueues: Answerer = ({ queues, isPaid }, { method, path, query, parts }) => {
  const [, , id, rest] = /^\/queues(\/([^/]+)(\/.*)?)?$/.exec(path) ?? [];
  if (!path.startsWith("/queues")) return undefined;
  const body = () => JSON.parse(parts.get("body") ?? "{}");
  const described = (name: string, { id: queue_id, settings, consumers }: Queue) => ({
    queue_id,
    queue_name: name,
    settings,
    consumers: consumers.map((one) => ({
      ...one,
      consumer_id: one.id,
      type: one.script === undefined ? "http_pull" : "worker",
    })),
    producers: [],
  });
  if (id === undefined && method === "GET") {
    const names = query.getAll("name");
    const found = [...queues].filter(([one]) => names.length === 0 || names.includes(one));
    return { result: found.map(([one, queue]) => described(one, queue)) };
  }
  if (id === undefined) {
    const { queue_name: name, settings = {} } = body();
    if (queues.has(name)) return refuse(409, 11009, "Queue name already taken");
    if (!isPaid) return refuse(400, 100128, "message_retention_period is too long");
    const made: Queue = {
      id: fresh(),
      settings: {
        delivery_delay: 0,
        delivery_paused: false,
        message_retention_period: 345_600,
        ...settings,
      },
      consumers: [],
    };
    queues.set(name, made);
    return { result: described(name, made) };
  }
  const [name, queue] = [...queues].find(([, one]) => one.id === id) ?? [];
  if (name === undefined || queue === undefined) return refuse(404, 11000, "Queue not found");
  if (rest === undefined && method === "GET") return { result: described(name, queue) };
  if (rest === undefined && method === "DELETE") {
    queues.delete(name);
    return { result: null };
  }
  if (rest === undefined) {
    Object.assign(queue.settings, body().settings);
    return { result: described(name, queue) };
  }
  const consumerId = rest.replace("/consumers", "").slice(1);
  if (method === "GET") return { result: described(name, queue).consumers };
  if (method === "DELETE") {
    queue.consumers = queue.consumers.filter((one) => one.id !== consumerId);
    return { result: null };
  }
  const { script_name: script, settings, dead_letter_queue } = body();
  const made = {
    id: consumerId || fresh(),
    script,
    settings,
    ...(dead_letter_queue && { dead_letter_queue }),
  };
  queue.consumers = [...queue.consumers.filter((one) => one.id !== made.id), made];
  return { result: { ...made, consumer_id: made.id } };
};
