import { toSplitMark } from "#shared/calls/split-mark.ts";
import { clientNamed } from "#shared/calls/ids.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import document from "#functions/api/generated/served/openapi.json" with { type: "json" };
import { finishedEventOf } from "#functions/dialer/events/request-finished.ts";
import { type CallEventType, eventTypes } from "#shared/calls/call-event.ts";
import { type CallResult, resultStatuses } from "#shared/calls/call-result.ts";
import { callBackRefusals } from "#shared/calls/tries.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { callStates } from "#shared/calls/states.ts";
import { labels } from "#shared/calls/labels.ts";
import { eventBodySchemas } from "#shared/events/event-body.ts";
import { bodyOf, withEvents } from "#shared/events/outbox-rows.ts";
import { recordResult } from "#shared/calls/record-result.ts";
import { applyAction, type OperatorAction } from "#shared/calls/transitions.ts";
import { echoOf, findReceiver, receiverSchema } from "#shared/dial-plan/receivers.ts";
import { aCall } from "#test/support/calls.ts";
import { rowIn } from "#test/support/rows.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const entry = receiverSchema.parse({ url: "https://example.com/events", echo: ["lead_id"] });
const receiver = findReceiver(clientNamed("crm"), { events: { "*": entry } });
const isType = (type: string): type is (typeof eventTypes)[number] =>
  eventTypes.some((one) => one === type);

const time = fc.integer({ min: 0, max: 4_102_444_800_000 });
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const result: fc.Arbitrary<CallResult> = fc.record({
  status: fc.constantFrom(...resultStatuses),
  human: orNull(fc.boolean()),
  word: orNull(fc.string()),
  answeredAt: orNull(time),
  endedAt: orNull(time),
  seconds: orNull(fc.nat(90_000)),
  cost: fc.option(fc.record({ amount: fc.constant("0.05"), currency: fc.constant("USD") }), {
    nil: undefined,
  }),
});
const labelNames = Object.keys(labels);
const acts: OperatorAction[] = [
  { to: "PLACED" },
  { to: "CANCELLED" },
  { to: "REDIALED", redialedAs: "call_01KAJ6Y5G0QZ3N4T7V8W9XABCE_00000" },
];
/** Events of a call's life: its state, what an operator decides then, the results that are told, and a wish. */
const story = fc.record({
  at: time,
  state: fc.constantFrom(...callStates),
  client: fc.constantFrom("crm", "test:crm"),
  act: fc.option(fc.constantFrom(...acts), { nil: undefined }),
  results: fc.array(result, { maxLength: 3 }),
  optedOut: fc.boolean(),
  callBack: fc.option(
    fc.oneof(fc.record({ at: time }), fc.record({ reason: fc.constantFrom(...callBackRefusals) })),
    { nil: undefined },
  ),
  headers: fc.record(
    {
      notBefore: time,
      urgent: fc.constant<true>(true),
      labels: fc.record(Object.fromEntries(labelNames.map((name) => [name, fc.string()]))),
      split: fc.constant(toSplitMark({ name: "hello", since: 1_000 })),
      traceparent: fc.constant(`00-${"4b".repeat(16)}-${"0a".repeat(8)}-01`),
    },
    { requiredKeys: [] },
  ),
  /** Number of the try, of an agent with `retry`. */
  number: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  context: fc.dictionary(fc.constantFrom("lead_id", "name"), fc.string({ maxLength: 400 })),
});
type Story = typeof story extends fc.Arbitrary<infer One> ? One : never;

/** Returns the row of a call after its story, with the events of each step. */
function rowAfter({ at, state, client, act, results, optedOut, headers, ...more }: Story): CallRow {
  const { number, context, callBack } = more;
  const request = { phone_number: "+12025550123", agent_id: "agent_sales", context };
  let row = rowIn(state, aCall({ client, request, ...headers }), { at });
  if (number !== undefined) row.tries = { number, budget: 3, until: at + 1_000_000, dialedAt: [] };
  row = withEvents({ ...row, echo: echoOf(context, receiver) }, receiver);
  let now = at;
  const write = () => ({ version: `v${now}`, at: (now += 1000) });
  const next = (changed: CallRow | undefined) => {
    row = withEvents(changed ?? row, receiver);
  };
  if (act !== undefined) next(applyAction(row, { action: act, by: "ops" }, write()));
  if (callBack !== undefined && row.state === "PLACED") {
    const following = { id: "call_01KAJ6Y5G0QZ3N4T7V8W9XABCE_00000", dueAt: at };
    row = { ...row, callBack, next: following };
  }
  for (const one of results) next(recordResult(row, { result: one, pollAt: now }, write()));
  next({ ...row, optedOut });
  return row;
}

/** Returns a body's fields, such as `data.result.status`. */
function pathsIn(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null || ofAnyName.test(path)) return [path];
  return Object.entries(value).flatMap(([name, one]) => pathsIn(one, `${path}.${name}`));
}
const ofAnyName = /\.(echo|by_state|by_result)$/;

/** Returns the fields that a schema of the public OpenAPI document has, and those that it requires. */
function pathsOf(schema: object, path: string): string[] {
  const { $ref, anyOf, properties } = Object(schema);
  if ($ref !== undefined) {
    const name = String($ref).replace("#/components/schemas/", "");
    const found = Object.entries(document.components.schemas).find(([one]) => one === name);
    return pathsOf(Object(found?.[1]), path);
  }
  if (anyOf !== undefined) return anyOf.flatMap((one: object) => pathsOf(one, path));
  if (properties === undefined) return [path];
  return Object.entries(properties).flatMap(([name, one]) =>
    pathsOf(Object(one), `${path}.${name}`),
  );
}

/** A request that is finished. */
const finished = fc.record({
  client: fc.constantFrom("crm", "test:crm"),
  acceptedAt: time,
  calls: fc.nat(10_000),
  states: fc.dictionary(fc.constantFrom(...callStates), fc.nat(10_000)),
  results: fc.dictionary(fc.constantFrom(...resultStatuses), fc.nat(10_000)),
  promised: fc.option(fc.nat(10_000), { nil: undefined }),
  finishedAt: time,
});
const eventOfFinished = (value: typeof finished extends fc.Arbitrary<infer One> ? One : never) =>
  finishedEventOf({
    kind: "request",
    key: "01KAJ6Y5G0QZ3N4T7V8W9XABCD",
    version: "v",
    value: { ...value, finished: value.calls },
    expiresAt: null,
  });

/** Returns the bodies of a call's events, as they are posted. */
const bodiesAfter = (told: Story) => {
  const row = rowAfter(told);
  return row.events.map((event): object => JSON.parse(JSON.stringify(bodyOf(row, event))));
};
const typeIn = (body: object): string => Object(body).type;

/** Bodies of some thousand events, by type. */
const made = Map.groupBy(
  [
    ...fc.sample(story, 2_000).flatMap(bodiesAfter),
    ...fc.sample(finished, 100).map((one): object => JSON.parse(eventOfFinished(one).body)),
  ],
  typeIn,
);

describe("the schema of an event's body", () => {
  it("is kept to by each event of a call, whatever happens to it", () => {
    fc.assert(
      fc.property(story, (told) => {
        for (const body of bodiesAfter(told)) {
          const type = typeIn(body);
          if (!isType(type)) throw new Error(`${type} is no type of events`);
          expect(eventBodySchemas[type].parse(body)).toEqual(body);
        }
      }),
      { numRuns: perTier({ quick: 60, long: 2_000 }) },
    );
  });

  it("is kept to by the event of a finished request", () => {
    fc.assert(
      fc.property(finished, (one) => {
        const { id, body } = eventOfFinished(one);
        expect(id).toBe("01KAJ6Y5G0QZ3N4T7V8W9XABCD.finished");
        const parsed: unknown = JSON.parse(body);
        expect(eventBodySchemas["request.finished"].parse(parsed)).toEqual(parsed);
      }),
    );
  });

  it.each(eventTypes)("of %s has just the fields that its bodies have", inSlowTier, (type) => {
    const { post } = document.webhooks[type];
    const { schema, example } = post.requestBody.content["application/json"];
    const inSchema = new Set(pathsOf(schema, type));
    const bodies = made.get(type) ?? [];
    expect(bodies.length).toBeGreaterThan(20);
    const inBodies = new Set(bodies.flatMap((body) => pathsIn(body, type)));
    expect([...inSchema].toSorted()).toEqual([...inBodies].toSorted());
    expect(eventBodySchemas[type].parse(example)).toEqual(example);
    // The examples are those of real calls, of agents without `retry`, of requests without headers of their own, and of
    // results without a price.
    const rare =
      /\.data\.(test|try|tries_left|not_before|urgent|split|traceparent|result\.cost\..*|counts\.promised)$/;
    const isLabel = (path: string) => labelNames.some((name) => path === `${type}.data.${name}`);
    const isRare = (path: string) =>
      rare.test(path) || (type === "call.ended" && path.includes(".call_back."));
    const always = [...inBodies].filter((path) => !isRare(path) && !isLabel(path));
    expect(new Set(pathsIn(example, type))).toEqual(new Set(always));
  });

  it("is there for all types that the dial plan may name, and no other", () => {
    expect(Object.keys(document.webhooks)).toEqual(eventTypes);
    expect(Object.keys(eventBodySchemas).toSorted()).toEqual(eventTypes.toSorted());
  });
});

describe("the state that an event reports", () => {
  const states: [CallEventType, string[]][] = [
    ["call.reviewed", ["PLACED", "CANCELLED", "REDIALED"]],
    ["call.ended", ["PLACED"]],
  ];
  it.each(states)("of %s is one of %j, and each occurs", (type, expected) => {
    const told = new Set((made.get(type) ?? []).map((body) => String(Object(body).data.state)));
    expect([...told].toSorted()).toEqual(expected.toSorted());
  });
});
