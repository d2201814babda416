/** Details of operations in the OpenAPI documents beside their routes: tags, descriptions, samples in two languages. */
import type { Json } from "./json-schema.ts";

/** Tags of the public document, in the order of the page. */
export const publicTags = [
  { name: "Calls", description: "Placing calls, and reading their outcome." },
  { name: "Do not call", description: "People who must not be called." },
  { name: "Usage", description: "Count, seconds and cost of your calls." },
  { name: "Receivers", description: "Receivers of your client's events." },
  { name: "Token", description: "Whose token is sent." },
  { name: "Files", description: "Prevents that a file of leads is sent twice." },
  { name: "Service", description: "Whether the service works." },
  { name: "Callbacks", description: "For your own webhook, which dials." },
  { name: "Events", description: "What the service posts to receivers." },
] as const;
type PublicTag = (typeof publicTags)[number]["name"];

const tagsByPath: readonly [RegExp, PublicTag][] = [
  [/^\/v1\/(calls|requests)\b/, "Calls"],
  [/^\/v1\/do-not-call\b/, "Do not call"],
  [/^\/v1\/usage\b/, "Usage"],
  [/^\/v1\/receivers\b/, "Receivers"],
  [/^\/v1\/me\b/, "Token"],
  [/^\/v1\/sent-files\b/, "Files"],
  [/^\/callbacks\b/, "Callbacks"],
  [/^\/(healthz|readyz)$/, "Service"],
];

/** Descriptions of routes that have none of their own. */
export const descriptions: Readonly<Record<string, string>> = {
  showToken: "Needs no right, and does not read the ledger.",
  showRequest:
    "A call is known once the dialer has read it, usually within seconds. The counts are on the first page only.",
  listRequests:
    "Only those of your client. A page may be short, or empty, and still have a cursor. By `idempotency_key` it finds the request of a key whose answer was lost.",
  listRequestCalls:
    "Each answer looks at up to 1,000 calls, so a page may be short, or empty, and still have a cursor.",
  showCall: "The id of a later try finds its call, too.",
  cancelRequest:
    "It takes effect with the first answer, also for calls that are still on the queue. Send the same body with the answer's `cursor` until there is none.",
  addOptOuts:
    "Only an operator can remove a number. Numbers that are already on the list are added like any other, so no answer reveals them.",
  findSentFile: "Files are remembered for as long as calls are kept.",
  startSentFile: "Its parts are then sent one after another, each under its own Idempotency-Key.",
  markSentPart: "So an interrupted sending continues where it stopped.",
  listReceivers: "The receivers of the dial plan are not included.",
  deleteReceiver: "A receiver that is created again under this name gets another secret.",
  rotateReceiverSecret:
    "Only this answer shows the new secret. For 24 hours each event is signed with both.",
  testReceiver: "It is posted within seconds, also while the receiver's circuit breaker is open.",
};

/** Methods of the client libraries, by operation: in TypeScript, and in Python. */
const samples: Readonly<Record<string, readonly [string, string]>> = {
  createCall: [
    'await calls.placeCall({ phone_number: "+12025550123", agent_id: "agent_sales" }, { idempotencyKey: "appointment-4711" });',
    'calls.place_call({"phone_number": "+12025550123", "agent_id": "agent_sales"}, idempotency_key="appointment-4711")',
  ],
  createCalls: [
    'await calls.placeCalls(list, { idempotencyKey: "campaign-7" });',
    'calls.place_calls(calls_of_today, idempotency_key="campaign-7")',
  ],
  showToken: ["await calls.getToken();", "calls.get_token()"],
  showRequest: ["await calls.getRequest(requestId);", "calls.get_request(request_id)"],
  listRequests: [
    "for await (const request of calls.listRequests()) console.log(request.id);",
    "for request in calls.list_requests(): print(request.id)",
  ],
  listRequestCalls: [
    'for await (const call of calls.listCalls(requestId, { state: "PLACED" })) console.log(call.id);',
    'for call in calls.list_calls(request_id, state="PLACED"): print(call.id)',
  ],
  showCall: ["await calls.getCall(callId);", "calls.get_call(call_id)"],
  showUsage: ['await calls.getUsage({ groupBy: "day" });', 'calls.get_usage(group_by="day")'],
  cancelRequest: ["await calls.cancelRequest(requestId);", "calls.cancel_request(request_id)"],
  addOptOuts: ['await calls.addOptOuts(["+12025550123"]);', 'calls.add_opt_outs(["+12025550123"])'],
  listReceivers: ["await calls.receivers.list();", "calls.list_receivers()"],
  putReceiver: [
    'await calls.receivers.put("main", { url: "https://example.com/events" });',
    'calls.put_receiver("main", "https://example.com/events")',
  ],
  deleteReceiver: ['await calls.receivers.delete("main");', 'calls.delete_receiver("main")'],
  rotateReceiverSecret: [
    'await calls.receivers.rotateSecret("main");',
    'calls.rotate_secret("main")',
  ],
  testReceiver: ['await calls.receivers.test("main");', 'calls.test_receiver("main")'],
  listReceiverDeliveries: [
    'for await (const one of calls.receivers.listDeliveries("main")) console.log(one);',
    'for one in calls.list_deliveries("main"): print(one)',
  ],
  replayReceiver: [
    'await calls.receivers.replay("main", { from, until });',
    'calls.replay_receiver("main", start=start, until=until)',
  ],
};

/** Adds to the operations of the public document what it says of them beside their routes. */
export function withPublicDetails(paths: Record<string, Json>): Record<string, Json> {
  return mapOperations(paths, (operation, path) => {
    const [, tag] = tagsByPath.find(([pattern]) => pattern.test(path)) ?? [];
    if (tag === undefined) throw new Error(`${path} has no tag: add it to route-details.ts`);
    return withDetails(operation, tag);
  });
}

/** Adds the tags of the operators' document: the first part of each path. */
export function withOperatorTags(paths: Record<string, Json>) {
  const tagOf = (path: string) => {
    const [, word = ""] = /^\/operator\/([\w-]+)/.exec(path) ?? [];
    const words = word.replaceAll("-", " ");
    return words.charAt(0).toUpperCase() + words.slice(1);
  };
  const tags = [...new Set(Object.keys(paths).map(tagOf))].map((name) => ({
    name,
    description: `Routes below /operator/${name.toLowerCase().replaceAll(" ", "-")}.`,
  }));
  return {
    tags,
    paths: mapOperations(paths, (operation, path) => ({ tags: [tagOf(path)], ...operation })),
  };
}

function withDetails(operation: Json, tag: PublicTag): Json {
  const id = String(operation["operationId"]);
  const sample = samples[id];
  return {
    tags: [tag],
    ...operation,
    ...(sample && {
      "x-codeSamples": [
        { lang: "TypeScript", source: sample[0] },
        { lang: "Python", source: sample[1] },
      ],
    }),
  };
}

function mapOperations(
  paths: Record<string, Json>,
  change: (operation: Json, path: string) => Json,
): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [
      path,
      Object.fromEntries(
        Object.entries(operations).map(([method, operation]) => [
          method,
          change(Object(operation), path),
        ]),
      ),
    ]),
  );
}
