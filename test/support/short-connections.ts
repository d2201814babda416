/**
 * Has `fetch` leave idle connections after a second. workerd closes them after five, perhaps as a request is written into
 * one: a stalled machine would fail that request, which nobody may simply repeat.
 */
import { Agent, setGlobalDispatcher } from "undici";

setGlobalDispatcher(new Agent({ keepAliveTimeout: 1_000, keepAliveMaxTimeout: 1_000 }));
