/** Files of leads that a client has sent in parts: the service remembers them by hashes of their numbers (docs/campaigns.md). */
import { callChecks, checkOptions } from "./check-options.ts";
import { ask } from "./retry.ts";
import type { AnswerOf, BodyOf, CallOptions, ClientDeps } from "./types.ts";

/** A file of leads, with what is known of each part. */
export type SentFile = AnswerOf<"startSentFile">;
/** A part of a file, which one request sends under the part's `idempotency_key`. */
export type SentPart = AnswerOf<"markSentPart">;
export type NewSentFile = BodyOf<"startSentFile">;
export type SentPartStep = BodyOf<"markSentPart">;

/** Creates the methods for sent files. Each may be repeated, and throws an `OutboundCallsError`. */
export function createSentFiles(deps: ClientDeps) {
  const { api } = deps;
  return {
    /** Finds a file by the SHA-256 of its sorted numbers. Undefined: your client has not sent it. */
    async find(file: string, options: CallOptions = {}): Promise<SentFile | undefined> {
      checkOptions("sentFiles.find", options, callChecks);
      const body = { file };
      const { sent } = await ask(
        (init) => api.POST("/v1/sent-files/find", { ...init, body }),
        options,
        deps,
      );
      return sent ?? undefined;
    },
    /** Begins to send a file, or continues it. One that was sent is refused, unless `again` names its round. */
    async start(body: NewSentFile, options: CallOptions = {}): Promise<SentFile> {
      checkOptions("sentFiles.start", options, callChecks);
      return ask((init) => api.POST("/v1/sent-files", { ...init, body }), options, deps);
    },
    /** Notes that a part is sent next (`begun`), was accepted (`sent`), or was certainly not accepted. */
    async mark(body: SentPartStep, options: CallOptions = {}): Promise<SentPart> {
      checkOptions("sentFiles.mark", options, callChecks);
      return ask((init) => api.POST("/v1/sent-files/parts", { ...init, body }), options, deps);
    },
  };
}
