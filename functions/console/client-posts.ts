import { createPostAsClient, type SendingDeps } from "../../shared/leads/ask-client-api.ts";

/** Creates what sends requests of a client to this page's own service. */
export function createSending(token: string, checkStopped?: () => void): SendingDeps {
  const origin = location.pathname.replace(/\/operator\/*$/, "");
  return {
    post: createPostAsClient({ origin, token }),
    sleep: (ms) => new Promise((passed) => setTimeout(passed, ms)),
    ...(checkStopped && { checkStopped }),
  };
}
