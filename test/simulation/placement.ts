import type { Route } from "#shared/calls/call-request.ts";
import type { SignedCallback, CallbackReport } from "#shared/providers/provider.ts";

/** A request of ours for one call, as received by the provider. */
export interface Requested {
  id: string;
  account: string;
  route: Route;
  /** Time at which its adapter was asked to dial, by its permit. */
  at: number;
  /** Time at which the request by which the phone rings has left. */
  leftAt: number;
  /** Time limit of that request. */
  timeoutMs: number;
}

/** A person's phone rang. */
export interface Placement extends Requested {
  number: string;
  /** Text by which the client recognises the call. */
  mark: string;
  placedAt: number;
  providerCallId: string;
  life: Life;
}

/** The end of a placed call: when it comes, and what the provider's records then tell. */
export interface Life {
  endsAt: number;
  status: "completed" | "busy" | "no_answer" | "voicemail" | "declined" | "failed";
  /** Time at which it is answered, and whether its record tells that once it has ended. */
  answeredAt: number | null;
  isAnswerKept: boolean;
  /** The callee's wish to be called back. Absent: there is none. */
  wish?: Wish;
}

/** A callee's wish to be called back, and the time at which the provider's analysis has it. */
export interface Wish {
  text: string;
  /** The time that it names. Undefined: no call follows, as it is past, too far or no time. */
  at: number | undefined;
  readyAt: number;
}

/** The callbacks of all providers, as a provider begins them. */
export interface CallingBack {
  /** Verifies and reads what a webhook has sent. Undefined: the dialer ignores it. */
  readCallback:
    | ((signed: SignedCallback, route: Route, callId?: string) => Promise<CallbackReport>)
    | undefined;
  /** True if callees of an agent may ask to be called back. */
  mayWish(agent: string): boolean;
  /** Notes an address that a request carried. The provider may call back though nothing was placed. */
  offer(url: string): void;
  /** Calls back about a call that is placed now. */
  follow(placement: Placement, url: string): void;
}
