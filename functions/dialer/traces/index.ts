/** The room of traces, which is loaded with their first use. */
export { traceEvents, traceMessages } from "./trace-invocation.ts";
export { measureSweep } from "./measure-sweep.ts";
