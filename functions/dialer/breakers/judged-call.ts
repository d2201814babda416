import type { Route } from "../../../shared/calls/route.ts";
import type { BacklogOf } from "../../../shared/policy/breakers.ts";
import type { DocumentsRead } from "../../../shared/ports/documents.ts";

/** The parts of a call that bear on its breakers. */
export interface JudgedCall extends BacklogOf {
  route: Route;
  numberHash: string;
  /** Country of its number, by which an operator sees what is refused. Undefined: it has none. */
  country: string | undefined;
  /** Time of its request, in milliseconds since the epoch. */
  sentAt: number;
}

/** A call with the breakers and failures that were read for it. */
export interface Judged {
  call: JudgedCall;
  read: DocumentsRead;
}
