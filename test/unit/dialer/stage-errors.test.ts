import { dialOf } from "../../support/resolved.ts";
import { expect, it } from "vitest";
import type { Claim } from "../../../functions/dialer/dial/delivery.ts";
import {
  failAfterRequest,
  failBeforeRequest,
  failRequest,
} from "../../../functions/dialer/dial/stage-errors.ts";
import { Withheld } from "../../../shared/lib/http-client.ts";
import { aCall } from "../../support/calls.ts";
import { aRowIn } from "../../support/call-rows.ts";
import { createDialerBench } from "../../support/dialer.ts";

const { deps } = createDialerBench();
const call = aCall();
const row = aRowIn("DIALING", { id: call.id, claims: ["last"] });
const route = deps.settings.table.find({
  client: call.client,
  agentId: call.request.agent_id,
});
if (route === undefined) throw new Error("the bench's plan has no route");
const dial = dialOf({ call, row, route, dialAt: 1 }, deps.settings);
const claim: Claim = { dial, row, version: "last", startedAt: 1 };
const error = new Error("boom");

/** Runs a stage's failure, and returns what it logged. */
function loggedBy(fail: (own: typeof deps) => unknown) {
  const logged: string[] = [];
  const result = fail({ ...deps, log: (level, name) => void logged.push(`${level} ${name}`) });
  return { result, logged };
}

it("an error before the request has the call wait, and gives its place in the cap back", () => {
  const { result, logged } = loggedBy((own) => failBeforeRequest(error, claim, own));
  expect(result).toMatchObject({
    refused: { state: "WAITING", reason: "not_checked" },
  });
  expect(logged).toEqual(["alarm ledger.unreachable"]);
});

it("an error of the request leaves its outcome unknown", () => {
  const { result, logged } = loggedBy((own) => failRequest(error, claim, own));
  expect(result).toEqual({ kind: "unknown", code: "provider_threw" });
  expect(logged).toEqual(["alarm provider.threw"]);
});

it("a withheld request has no outcome", () => {
  const { result, logged } = loggedBy((own) => failRequest(new Withheld("x"), claim, own));
  expect(result).toBeUndefined();
  expect(logged).toEqual([]);
});

it("an error after the request loses counts alone", () => {
  const { logged } = loggedBy((own) => failAfterRequest(error, claim, own));
  expect(logged).toEqual(["warning breaker.update_failed"]);
});
