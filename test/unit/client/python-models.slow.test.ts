import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import document from "../../../functions/api/generated/served/openapi.json" with { type: "json" };
import { pythonEnvironment } from "../../support/python-library.ts";

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
