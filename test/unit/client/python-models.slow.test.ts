import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import document from "#functions/api/generated/served/openapi.json" with { type: "json" };
import { pythonEnvironment, type PythonJob, runPython } from "#test/support/python-library.ts";
import { clientRoutes } from "#test/support/client-routes.ts";
import { startReceiver } from "#test/support/receiver.ts";

/** Schemas of the document, by the dataclass that reads them. */
const { schemas } = document.components;
const answerOf = (path: keyof typeof document.paths): unknown => {
  const operation = Object(document.paths[path]).get;
  return operation.responses[200].content["application/json"].schema;
};
const read: Readonly<Record<string, unknown>> = {
  Token: schemas.ClientToken,
  RequestedCall: schemas.RequestedCall,
  Result: schemas.Result,
  ListedRequest: schemas.ListedRequest,
  CallStatus: schemas.RequestedCallWithHistory,
  RequestStatus: answerOf("/v1/requests/{id}"),
  SentFile: schemas.SentFile,
  SentPart: schemas.SentFile.properties.parts.items,
  Usage: answerOf("/v1/usage"),
  Delivery: Object(answerOf("/v1/receivers/{name}/deliveries")).properties.deliveries.items,
};

it("has the fields of what the service answers in the dataclasses of Python", async () => {
  const program = `
import json, dataclasses, outbound_calls as calls
names = lambda kind: [one.metadata.get("name", one.name) for one in dataclasses.fields(kind) if one.name != "raw"]
print(json.dumps({name: sorted(names(getattr(calls, name))) for name in ${JSON.stringify(Object.keys(read))}}))`;
  const { stdout } = await promisify(execFile)("python3", ["-c", program], {
    env: pythonEnvironment(),
  });
  const wanted = Object.entries(read).map(([name, schema]) => [
    name,
    Object.keys(Object(schema).properties).toSorted(),
  ]);
  expect(JSON.parse(stdout)).toEqual(Object.fromEntries(wanted));
});

it("has the same methods, with the same arguments, in both clients of Python", async () => {
  const program = `
import inspect, json, outbound_calls as calls
names = lambda kind: {name: list(inspect.signature(one).parameters) for name, one in inspect.getmembers(kind, callable) if name[0] != "_"}
print(json.dumps([names(calls.OutboundCalls), names(calls.AsyncOutboundCalls)]))`;
  const { stdout } = await promisify(execFile)("python3", ["-c", program], {
    env: pythonEnvironment(),
  });
  const [blocking, asynchronous]: Record<string, string[]>[] = JSON.parse(stdout);
  expect(asynchronous).toEqual(blocking);
  const untimed = Object.entries(blocking ?? {}).filter(([, names]) => !names.includes("timeout"));
  expect(untimed).toEqual([]);
  expect(Object.keys(blocking ?? {}).length).toBeGreaterThan(20);
});

it("has a method for each route that a client has in Python", async () => {
  const refusing = await startReceiver((_, response) => response.writeHead(400).end());
  const [id, file, one] = ["0".repeat(26), "0".repeat(64), { phone_number: "+12025550123" }];
  const at = "2026-11-21T09:00:00Z";
  const method = (name: string, args: unknown[] = [], options = {}): PythonJob => ({
    method: name,
    args,
    options,
  });
  const jobs = [
    method("place_call", [one]),
    method("place_calls", [[one]]),
    method("get_call", [`call_${id}_00000`]),
    method("get_request", [id]),
    method("list_calls", [id], { state: "PLACED" }),
    method("list_requests"),
    method("cancel_request", [id]),
    method("cancel_call", [`call_${id}_00000`]),
    method("get_usage"),
    method("get_token"),
    method("add_opt_outs", [[]]),
    method("find_sent_file", [file]),
    method("start_sent_file", [file], { campaign: "spring", parts: [] }),
    method("mark_sent_part", [file], { round: 1, index: 0, state: "planned" }),
    method("list_receivers"),
    method("put_receiver", ["main", "https://example.com"]),
    method("delete_receiver", ["main"]),
    method("rotate_secret", ["main"]),
    method("test_receiver", ["main"]),
    method("replay_receiver", ["main"], { start: at, until: at }),
    method("list_deliveries", ["main"]),
  ];
  const found = await runPython({ url: refusing.url, token: "oc_token", jobs });
  await refusing.close();
  for (const { error } of found) expect(error).toMatchObject({ type: "refused", status: 400 });
  const seen = refusing.received.map(({ method: verb, path }) => `${verb} ${path}`);
  expect(
    clientRoutes().filter(({ pattern }) => !seen.some((request) => pattern.test(request))),
  ).toEqual([]);
});
