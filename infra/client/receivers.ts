/** A client's own receivers of events (docs/events.md). */
import { callChecks, checkOptions, replayChecks, requireReceiverName } from "./check-options.ts";
import { isRefused } from "./errors.ts";
import { pages } from "./pages.ts";
import { ask, sendUntilAnswered, type TryInit } from "./retry.ts";
import type { AnswerOf, BodyOf, CallOptions, ClientDeps } from "./types.ts";

/** A receiver of events, without its secret. */
export type Receiver = AnswerOf<"listReceivers">["receivers"][number];
/** A receiver that was put. Its `secret` is there only when it is created. */
export type PutReceiver = AnswerOf<"putReceiver">;
/** The new secret of a receiver. */
export type RotatedSecret = AnswerOf<"rotateReceiverSecret">;
/** One try to deliver an event to a receiver. */
export type Delivery = AnswerOf<"listReceiverDeliveries">["deliveries"][number];
export type ReceiverSettings = BodyOf<"putReceiver">;

export interface ReplayOptions extends CallOptions {
  /** The replay covers calls accepted then or later. */
  from: Date | string;
  /** The replay covers calls accepted earlier. */
  until: Date | string;
}

const pathOf = (name: string) => ({ path: { name: requireReceiverName(name) } });

/** Creates the methods for receivers. Each throws an `OutboundCallsError`. */
export function createReceivers(deps: ClientDeps) {
  const { api } = deps;
  return {
    async list(options: CallOptions = {}): Promise<Receiver[]> {
      checkOptions("receivers.list", options, callChecks);
      return (await ask((init) => api.GET("/v1/receivers", { ...init }), options, deps)).receivers;
    },
    async put(
      name: string,
      body: ReceiverSettings,
      options: CallOptions = {},
    ): Promise<PutReceiver> {
      checkOptions("receivers.put", options, callChecks);
      const params = pathOf(name);
      return ask(
        (init) => api.PUT("/v1/receivers/{name}", { ...init, params, body }),
        options,
        deps,
      );
    },
    async delete(name: string, options: CallOptions = {}): Promise<void> {
      checkOptions("receivers.delete", options, callChecks);
      const params = pathOf(name);
      let tries = 0;
      const send = (init: TryInit) => {
        tries += 1;
        return api.DELETE("/v1/receivers/{name}", { ...init, params });
      };
      try {
        await sendUntilAnswered<object>(send, options, deps);
      } catch (error) {
        // A try whose answer was lost has removed it.
        if (tries < 2 || !isRefused(error) || error.status !== 404) throw error;
      }
    },
    async rotateSecret(name: string, options: CallOptions = {}): Promise<RotatedSecret> {
      checkOptions("receivers.rotateSecret", options, callChecks);
      const params = pathOf(name);
      return ask(
        (init) => api.POST("/v1/receivers/{name}/rotate-secret", { ...init, params }),
        { ...options, isOnce: true }, // each rotation ends the secret before the last
        deps,
      );
    },
    ...createDeliveries(deps),
  };
}

/** Methods for the deliveries to a receiver. */
function createDeliveries(deps: ClientDeps) {
  const { api } = deps;
  return {
    async test(name: string, options: CallOptions = {}): Promise<{ event_id: string }> {
      checkOptions("receivers.test", options, callChecks);
      const params = pathOf(name);
      return ask(
        (init) => api.POST("/v1/receivers/{name}/test", { ...init, params }),
        { ...options, statuses: [202] },
        deps,
      );
    },
    async replay(name: string, { from, until, ...options }: ReplayOptions): Promise<void> {
      checkOptions("receivers.replay", { from, until, ...options }, replayChecks);
      const params = pathOf(name);
      const body = { from: toText(from), until: toText(until) };
      await ask(
        (init) => api.POST("/v1/receivers/{name}/replay", { ...init, params, body }),
        { ...options, statuses: [202], isOnce: true },
        deps,
      );
    },
    /** Yields the tries to deliver events, newest first. */
    listDeliveries(name: string, options: CallOptions = {}): AsyncGenerator<Delivery> {
      checkOptions("receivers.listDeliveries", options, callChecks);
      const named = pathOf(name);
      return pages(async (query) => {
        const params = { ...named, query };
        const { deliveries, cursor } = await ask<AnswerOf<"listReceiverDeliveries">>(
          (init) => api.GET("/v1/receivers/{name}/deliveries", { ...init, params }),
          options,
          deps,
        );
        return [deliveries, cursor];
      });
    },
  };
}

const toText = (time: Date | string) => (time instanceof Date ? time.toISOString() : time);
