/** The work beside deliveries of calls. A process evaluates this module when it first does any of it. */
export { handleStoredLetters } from "./consume/handle-stored-letters.ts";
export { consumeEvents } from "./consume/consume-events.ts";
export { dispatch } from "./dispatch/dispatcher.ts";
export { sweep } from "./sweep/sweep.ts";
export { upkeep } from "./sweep/upkeep.ts";
