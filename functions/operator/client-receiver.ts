import type { Context } from "hono";
import { clientOfPath } from "#shared/calls/client-path.ts";
import * as z from "#shared/lib/zod.ts";
import type { ApiEnv } from "../api/http/context.ts";
import {
  answerNoneAllowed,
  changeReceivers,
  readReceivers,
  withoutReceiver,
} from "../api/requests/client-receivers.ts";
import {
  putReceiverAnswer,
  receiverBody,
  receiverView,
  storeReceiver,
  toReceiverView,
  withoutQuery,
} from "../api/requests/receivers.ts";
import { refuseWithoutRole } from "./roles.ts";
import { declareRoute } from "../api/http/route.ts";
import { requireClient } from "./clients.ts";

/** Name of the receiver that operators make. The client sees it by this name at /v1/receivers. */
const mainName = "main";

const putClientReceiver = declareRoute({
  operationId: "putClientReceiver",
  summary: "Make a client's receiver of events, or replace it",
  description:
    "It is the client's own receiver of the name `main`. The answer has its secret only when it is created. A receiver with `echo` " +
    "needs the role `reveal` too.",
  method: "put",
  role: "configure",
  path: "/clients/:id/receiver",
  body: receiverBody,
  answer: putReceiverAnswer,
  problems: [403, 404, 409],
  async handle({ c, deps, body }) {
    // Whoever chooses the URL reads the contexts that its events repeat.
    const refused = body.echo.length > 0 ? refuseWithoutRole(c, "reveal", deps) : undefined;
    if (refused !== undefined) return refused;
    if (deps.plan.clientReceivers === false) return answerNoneAllowed(c);
    const of = await requireClient(c, deps);
    if (of instanceof Response) return of;
    return storeReceiver(
      c,
      { client: of.name, name: mainName, body, action: "put_client_receiver" },
      deps,
    );
  },
});

const listClientReceivers = declareRoute({
  operationId: "listClientReceivers",
  summary: "A client's own receivers of events, without the query of their URLs",
  description: "Of any client, also one that only API_TOKENS has.",
  method: "get",
  path: "/clients/:id/receivers",
  answer: z.strictObject({ receivers: z.array(z.strictObject(receiverView)) }),
  async handle({ c, deps }) {
    const receivers = Object.entries(await readReceivers(clientIn(c), deps));
    return {
      receivers: receivers.map(([name, one]) => ({
        ...toReceiverView(name, one, deps),
        url: withoutQuery(one.url),
      })),
    };
  },
});

const deleteClientReceiver = declareRoute({
  operationId: "deleteClientReceiver",
  summary: "Delete a client's own receiver; its pending events are not delivered",
  method: "delete",
  role: "configure",
  path: "/clients/:id/receivers/:name",
  answer: z.strictObject({ client: z.string(), name: z.string() }),
  problems: [404],
  async handle({ c, deps }) {
    const client = clientIn(c);
    const name = c.req.param("name") ?? "";
    const change = withoutReceiver(c, name);
    const action = "delete_client_receiver";
    const left = await changeReceivers(c, { client, name, action, change }, deps);
    return left instanceof Response ? left : { client, name };
  },
});

const clientIn = (c: Context<ApiEnv>) => clientOfPath(c.req.param("id") ?? "");

export const clientReceiverRoutes = [putClientReceiver, listClientReceivers, deleteClientReceiver];
