/** Methods for a client rather than for a request: its token, usage, opt-outs, receivers and files. */
import { callChecks, checkOptions, optOutChecks, usageChecks } from "./check-options.ts";
import { createReceivers } from "./receivers.ts";
import { ask } from "./retry.ts";
import { createSentFiles } from "./sent-files.ts";
import type { AnswerOf, BodyOf, CallOptions, ClientDeps } from "./types.ts";

/** The token that the client sends, and what it may do. */
export type TokenInfo = AnswerOf<"showToken">;
/** Sums of the client's calls. */
export type Usage = AnswerOf<"showUsage">;
export interface UsageOptions extends CallOptions {
  /** The first day in UTC, such as `2026-11-01`. Default: six days before the last. */
  from?: string;
  /** The last day, at most 31 days later. Default: today. */
  to?: string;
  groupBy?: "day" | "agent" | "campaign";
}

export interface OptOutOptions extends CallOptions {
  /** `client` keeps this client from calling them; `deployment`, the default, everybody. */
  scope?: NonNullable<BodyOf<"addOptOuts">["scope"]>;
  reason?: NonNullable<BodyOf<"addOptOuts">["reason"]>;
}

/** Creates the methods of an account. Each throws an `OutboundCallsError`. */
export function createAccount(deps: ClientDeps) {
  const { api } = deps;
  return {
    getToken(options: CallOptions = {}): Promise<TokenInfo> {
      checkOptions("getToken", options, callChecks);
      return ask((init) => api.GET("/v1/me", { ...init }), options, deps);
    },
    getUsage({ from, to, groupBy, ...options }: UsageOptions = {}): Promise<Usage> {
      checkOptions("getUsage", { from, to, groupBy, ...options }, usageChecks);
      const query = {
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        ...(groupBy === undefined ? {} : { group_by: groupBy }),
      };
      return ask((init) => api.GET("/v1/usage", { ...init, params: { query } }), options, deps);
    },
    async addOptOuts(
      phoneNumbers: readonly string[],
      { scope, reason, ...options }: OptOutOptions = {},
    ): Promise<{ added: number }> {
      checkOptions("addOptOuts", { scope, reason, ...options }, optOutChecks);
      if (!Array.isArray(phoneNumbers)) throw new TypeError("phoneNumbers must be an array.");
      const body: BodyOf<"addOptOuts"> = {
        phone_numbers: [...phoneNumbers],
        ...(scope === undefined ? {} : { scope }),
        ...(reason === undefined ? {} : { reason }),
      };
      const { added } = await ask(
        (init) => api.POST("/v1/do-not-call", { ...init, body }),
        options,
        deps,
      );
      return { added };
    },
    receivers: createReceivers(deps),
    sentFiles: createSentFiles(deps),
  };
}
