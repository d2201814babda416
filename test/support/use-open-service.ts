import { afterAll, beforeAll } from "vitest";
import { reportFailures } from "./tell-of-failures.ts";
import { type OpenService, openService, type Servers } from "./open-service.ts";

/** Opens a service before the tests of a `describe`, with the words of `openService`, and ends it after them. */
export function useOpenService<Own extends Servers>(
  ...words: Parameters<typeof openService<Own>>
): Omit<OpenService<Own>, "end"> {
  let open: OpenService<Own> | undefined;
  beforeAll(async () => {
    open = await openService(...words);
  });
  afterAll(() => open?.end());
  reportFailures(() => open?.service.output() ?? "");
  const opened = () => {
    if (open === undefined) throw new Error("the service has not started");
    return open;
  };
  return {
    get service() {
      return opened().service;
    },
    get servers() {
      return opened().servers;
    },
    post: (...posted) => opened().post(...posted),
  };
}
