import { expect, it } from "vitest";
import { createFirstRow, headersOf } from "#shared/calls/call-row.ts";
import { labels, labelViews, type Labels } from "#shared/calls/labels.ts";
import { toHeadersView } from "#shared/calls/views.ts";
import { parseUsageKey, rowStep, usageKeyOf } from "#shared/policy/usage.ts";
import {
  createRequestMessage,
  messageSchema,
  toCalls,
  toJson,
} from "#shared/ports/call-messages.ts";
import { parseRow, toStoredRow } from "#shared/ports/stored-row.ts";
import { aCall } from "#test/support/calls.ts";

/** Labels of which this version knows one by name: whatever carries them must not pick single ones. */
const bag: Labels = Object.assign({ campaign: "spring" }, { wave: "2" });

it("a request's labels are carried whole from the message into rows, usage and views", () => {
  const { id: _, request, ...posted } = aCall({ labels: bag });
  const text = JSON.stringify(request);
  const json = toJson(createRequestMessage(posted, { text, isBatch: false }));
  const message = messageSchema.parse(JSON.parse(json));
  if (message.kind !== "calls") throw new Error("it has calls");
  const [call] = toCalls(message);
  if (call === undefined) throw new Error("it has one call");
  expect(call.labels).toEqual(bag);
  const first = createFirstRow({ call, numberHash: "", numberTail: "" });
  const row = parseRow(first.id, "v", JSON.parse(JSON.stringify(toStoredRow(first))));
  if (row === undefined) throw new Error("it can be read");
  expect(headersOf(row)).toEqual({ labels: bag });
  expect(rowStep(row, 0).of).toMatchObject({ labels: bag });
  expect(toHeadersView(row)).toEqual(bag);
});

it("usage is counted under one key for equal labels, in whichever order they came", () => {
  const of = { client: "crm", agentId: "agent_sales" };
  const { key } = usageKeyOf(0, { ...of, labels: bag });
  const turned: Labels = Object.assign({ wave: "2" }, { campaign: "spring" });
  expect(usageKeyOf(0, { ...of, labels: turned }).key).toBe(key);
  expect(parseUsageKey(key)).toEqual({ hour: 0, ...of, labels: bag });
  expect(parseUsageKey(usageKeyOf(0, of).key)).toEqual({ hour: 0, ...of, labels: {} });
  expect(usageKeyOf(0, { ...of, labels: {} })).toEqual(usageKeyOf(0, of));
});

it("a call without labels stores and sends no byte for them", () => {
  const { id: _, request, ...posted } = aCall();
  const text = JSON.stringify(request);
  const message = toJson(createRequestMessage(posted, { text, isBatch: false }));
  const row = createFirstRow({ call: aCall(), numberHash: "", numberTail: "" });
  const stored = JSON.stringify(toStoredRow(row));
  const view = JSON.stringify(toHeadersView(row));
  for (const json of [message, stored, view]) expect(json).not.toMatch(/label|campaign/);
});

it("each label has a header of its own, and a place in the views", () => {
  const headers = Object.values(labels).map(({ header }) => header.toLowerCase());
  expect(new Set(headers).size).toBe(headers.length);
  expect(Object.keys(labelViews)).toEqual(Object.keys(labels));
});
