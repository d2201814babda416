import { chainOf } from "#shared/calls/chain.ts";
import { readCallId, requestIdOf, timeOfId } from "#shared/calls/ids.ts";
import { states } from "#shared/calls/states.ts";
import * as z from "#shared/lib/zod.ts";
import { requireReadable } from "#shared/ports/unreadable.ts";
import { answerConflict, changeCall } from "../actions/change-call.ts";
import { state } from "../http/fields.ts";
import { declareRoute } from "../http/route.ts";
import { answerUnknown } from "./find-request.ts";

/**
 * Cancels a waiting call of the client by its id, or a promised call-back without the other calls of its request.
 * Another client's call is answered like a call that does not exist.
 */
export const cancelCall = declareRoute({
  operationId: "cancelCall",
  summary: "Cancel one waiting call, such as a promised call-back",
  method: "post",
  path: "/calls/:id/cancel",
  body: z.strictObject({}),
  isBodyOptional: true,
  answer: z.looseObject({ id: z.string(), state }),
  problems: [403, 404, 409],
  async handle({ c, deps }) {
    const { ledger, clock, retentionMs } = deps;
    const id = readCallId(c.req.param("id") ?? "");
    const isKept = id !== undefined && timeOfId(id) + retentionMs > clock.now();
    const found = isKept ? requireReadable((await ledger.read([id])).get(id)) : undefined;
    if (found?.client !== c.get("caller").client) {
      const detail = "There is no call of this id, or it is not known yet.";
      return answerUnknown(c, { id, now: clock.now(), detail });
    }
    const action = { to: "CANCELLED", reason: "client" } as const;
    const isWaiting = states[found.state].actions.includes("cancel");
    const row = isWaiting
      ? await changeCall(c, { row: found, action, name: "client_cancel" }, deps)
      : found;
    if (row.state !== "CANCELLED") return answerConflict(c, row, "cancel");
    deps.progress.forget(requestIdOf(chainOf(row)));
    return { id: row.id, state: row.state };
  },
});
