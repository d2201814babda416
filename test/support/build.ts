/** Vitest's global setup: builds the API's generated files once a run. */
export { build as setup } from "#infra/generate/build.ts";
