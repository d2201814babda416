import { answerNoneAllowed } from "../api/requests/client-receivers.ts";
import { storeReceiver, putReceiverAnswer, receiverBody } from "../api/requests/receivers.ts";
import { refuseWithoutRole } from "./roles.ts";
import { declareRoute } from "../api/http/route.ts";
import { requireClient } from "./clients.ts";

/** Name of the receiver that operators make. The client sees it by this name at /v1/receivers. */
const name = "main";

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
    return storeReceiver(c, { client: of.name, name, body, action: "put_client_receiver" }, deps);
  },
});

export const clientReceiverRoutes = [putClientReceiver];
