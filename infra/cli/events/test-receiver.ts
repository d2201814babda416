import {
  createPostEvent,
  type PostedEvent,
  type PostEvent,
} from "#functions/dialer/runtime/post-event.ts";
import { bodyOf, eventIdOf } from "#shared/events/outbox-rows.ts";
import { toCallId, createRequestId, clientNamed } from "#shared/calls/ids.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import {
  type Receiver,
  findReceiverNamed,
  findReceiver,
  receiverSecrets,
} from "#shared/dial-plan/receivers.ts";
import { randomId } from "#shared/lib/random.ts";
import { shownText } from "#shared/lib/shown-text.ts";
import { Misuse } from "../calls/failures.ts";
import type { Surroundings } from "./surroundings.ts";

/**
 * Begins the ids of examples. No request has such an id, as L is no digit of Crockford's base32, so that an example is
 * never taken for a real call.
 */
const exampleBeginning = "EXAMPLE";
const exampleType = "call.ended";

/**
 * Posts one signed example to a receiver, once, as the dialer posts events, and prints what came back.
 *
 * @param client a client whose events the receiver gets; undefined if the plan has one receiver alone
 * @returns the exit code: 0 for an answer of 2xx, otherwise 2
 */
export async function testReceiver(
  client: string | undefined,
  plan: DialPlan,
  surroundings: Surroundings,
): Promise<number> {
  const { now, print } = surroundings;
  const receiver = chosenReceiver(client, plan);
  const post = postTo(receiver, surroundings);
  const event = exampleFor(receiver, now());
  print(`Posting an example of ${exampleType} to ${new URL(receiver.url).origin}: ${event.id}`);
  const begunAt = now();
  const answer = await post(receiver, event);
  const ms = now() - begunAt;
  if ("error" in answer) {
    print(`No answer after ${ms} ms: ${answer.error}`);
    return 2;
  }
  const { status, text } = answer;
  print(`Answer ${status} after ${ms} ms${text === "" ? "" : ":"}`);
  if (text !== "") print(shownText(text));
  if (status >= 200 && status < 300) return 0;
  const isRedirect = status >= 300 && status < 400;
  print(`Not accepted: it must answer 2xx${isRedirect ? ", and no redirect is followed" : ""}.`);
  return 2;
}

/** @throws a Failure if nobody gets the client's events, or the plan has several receivers and none is named */
function chosenReceiver(client: string | undefined, plan: DialPlan): Receiver {
  const names = Object.keys(plan.events ?? {});
  const [first] = names;
  if (first === undefined) throw new Misuse("The dial plan has no receiver of events.");
  if (client === undefined && names.length > 1) {
    throw new Misuse(`Name a client: the dial plan has receivers for ${names.join(", ")}.`);
  }
  const receiver =
    client === undefined ? findReceiverNamed(first, plan) : findReceiver(clientNamed(client), plan);
  if (receiver !== undefined) return receiver;
  throw new Misuse(`No receiver takes the events of ${client}. Receivers: ${names.join(", ")}.`);
}

/** @throws a Failure if the environment lacks the receiver's secret, or has a malformed one */
function postTo(
  { name, ...entry }: Receiver,
  { environment, fetch, now }: Surroundings,
): PostEvent {
  const events = { [name]: entry };
  const missing = receiverSecrets({ events }).find((secret) => !environment[secret]);
  if (missing !== undefined) throw new Misuse(`${missing} must be in the environment.`);
  try {
    return createPostEvent({ events }, { environment, fetch, now });
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : "the secret is malformed", {
      cause: error,
    });
  }
}

/** Returns an example of an event, with an id of its own each time. */
function exampleFor({ echo }: Receiver, now: number): PostedEvent {
  const requestId = createRequestId(now, randomId());
  const call = {
    id: toCallId(exampleBeginning + requestId.slice(exampleBeginning.length), 0),
    agentId: "agent_example",
    notBefore: null,
    isUrgent: false,
    echo: Object.fromEntries(echo.map((key) => [key, "example"])),
    result: {
      status: "completed" as const,
      human: true,
      answeredAt: now - 60_000,
      endedAt: now,
      seconds: 60,
      word: "example",
      readAt: now,
    },
  };
  const event = {
    type: exampleType,
    sequence: 1,
    at: now,
    state: "PLACED",
    reason: "placed",
    attempt: 1,
    status: call.result.status,
  };
  const body = bodyOf(call, event);
  const data = { ...body.data, test: true };
  return { id: eventIdOf(call, event), body: JSON.stringify({ ...body, data }) };
}
