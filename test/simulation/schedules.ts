import {
  closing,
  type Directed,
  lookedUpByNumber,
  meanwhile,
  sentOnceMore,
  standingStill,
  waitingForPace,
} from "./directed.ts";
import { downForDays, told } from "./directed-events.ts";
import { askedAbout, calledBackLate, triedAgain } from "./directed-results.ts";
import { clocksOpposed } from "./directed-clocks.ts";
import { dispatcherStandingStill } from "./directed-dispatchers.ts";
import { urgentWhileOthersWait } from "./directed-urgency.ts";
import {
  dialingInSteps,
  removalLandingLate,
  landingLate,
  oldPlan,
  overTheCap,
  redialedAgain,
  repeatedLate,
} from "./directed-more.ts";

/** Schedules that random simulation would seldom find, by their content. The quick ones take some seconds each. */
export const schedulesOfCalls: Record<string, () => Iterable<Directed>> = {
  "hours close while calls wait for a place": closing,
  "a call is sent once more": sentOnceMore,
  "a moment of the pace is waited for": waitingForPace,
  "two calls to one person are looked up by number": lookedUpByNumber,
  "calls are redialed again": redialedAgain,
  "one delivery brings more calls to a person than may be made": overTheCap,
  "a request is repeated once its calls' time is over": repeatedLate,
  "a dialer runs the plan before": oldPlan,
  "a pause is removed late": removalLandingLate,
  "a process stands still in the midst of dialing": dialingInSteps,
  "a dispatcher stands still": dispatcherStandingStill,
  "urgent calls come in while others wait": urgentWhileOthersWait,
  "clocks are an hour ahead and behind": clocksOpposed,
};

/** As quick ones of what becomes of calls, and of how it is told. */
export const schedulesOfEnds: Record<string, () => Iterable<Directed>> = {
  "a call's result is asked for": askedAbout,
  "a provider calls back late": calledBackLate,
  "a call is tried again": triedAgain,
  "events are told": told,
  "a receiver is down for three days": downForDays,
};

export const quickSchedules = { ...schedulesOfCalls, ...schedulesOfEnds };

export const longSchedules: Record<string, () => Iterable<Directed>> = {
  "what was given up lands late": landingLate,
  ...Object.fromEntries(
    Object.entries(meanwhile).map(([name, act]) => [
      `somebody stands still while a call ${name}`,
      () => standingStill(act),
    ]),
  ),
};
