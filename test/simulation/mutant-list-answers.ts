import { mutantsOf, type Mutant } from "./mutant.ts";

const of = (name: string) => [`test/unit/providers/${name}.test.ts`];

const ofTelnyx = mutantsOf(of("telnyx"), [
  [
    "a limit of Telnyx's account is the account's",
    '"D17 D19 D25 D26 D27 D28 D29 D60"',
    '"D17 D19 D25 D26 D27 D28 D29"',
  ],
  [
    "a destination that Telnyx does not permit counts as a refused call",
    '[{ kind: "rejected" }, "D11 D12 D13 D40"],',
    '[{ kind: "rejected", blamesNumber: true }, "D11 D12 D13 D40"],',
  ],
  [
    "a limit of Telnyx's international calls delays that call alone",
    '[{ kind: "not_placed", blamesNumber: true, retryAfterSeconds: 900 }, "D39"],',
    '[{ kind: "account_refused" }, "D39"],',
  ],
  [
    "a D-code is read wherever it stands",
    "/(?<![\\w-])D\\d{1,2}(?![\\w-])/g",
    "/(?<![\\w-])D\\d{1,2}$/g",
  ],
  [
    "a D-code of its own field counts",
    '[telnyx_error?.error_code ?? "", ...details]',
    "[...details]",
  ],
  [
    "a 404 is the route's only where something does not exist",
    "(status === 404 && missingCodes.has(first.code))",
    "status === 404",
  ],
]);

const ofAgents = [
  ...mutantsOf(of("elevenlabs"), [
    [
      "an agent that ElevenLabs does not know is refused",
      "if (status === 404) return ofRoute;",
      "",
    ],
    [
      "a connection that ElevenLabs does not know is refused",
      'const code = "invalid_provider_config";',
      'const code = "none";',
    ],
  ]),
  ...mutantsOf(of("retell"), [
    [
      "an agent that Retell does not know is refused",
      "/cannot find requested asset/i.test(message)",
      'message === ""',
    ],
    [
      "a call without payment that has no length was not placed",
      'return isUnpaid && !isLive ? { ...result, status: "failed" } : result;',
      "return result;",
    ],
  ]),
  ...mutantsOf(of("vapi"), [
    [
      "an assistant's id that Vapi cannot read is refused",
      "/^(assistantId|phoneNumberId)\\b/.test(one)",
      'one === ""',
    ],
    [
      "a reason that is not listed makes no call completed",
      "const mayBeAnswered = words.has(word) && word !== ringing;",
      "const mayBeAnswered = word !== ringing;",
    ],
  ]),
];

const ofOthers = [
  ...mutantsOf(of("callback-urls"), [
    [
      "Telnyx's address for callbacks is an array",
      '{ "call.hangup": [callbackUrl] }',
      '{ "call.hangup": callbackUrl }',
    ],
  ]),
  ...mutantsOf(of("twilio"), [
    [
      "an address for callbacks that Twilio refuses is the account's",
      '["account_refused", "21609 21626"],',
      "",
    ],
    [
      "the next page is read below the base address",
      "url + queryOf(listed.next_page_uri)",
      "new URL(url).origin + listed.next_page_uri",
    ],
  ]),
  ...mutantsOf(of("livekit"), [
    [
      "a late agent is waited for",
      "const endsAt = performance.now() + timeoutSeconds * 1000;",
      "const endsAt = performance.now() + Math.min(timeoutSeconds, 5) * 1000;",
    ],
    [
      "a trunk without numbers is the route's fault",
      'if (error.code === "failed_precondition" && status === 412 && noNumbers.test(error.msg)) {',
      'if (error.code === "") {',
    ],
    ["LiveKit's room may be created", "roomCreate: true, room", "room"],
  ]),
  ...mutantsOf(of("signed-results"), [
    [
      "a rejection of LiveKit tells nothing by itself",
      '["failed", "SIP_TRUNK_FAILURE sip_401 sip_402 sip_407"],',
      '["failed", "SIP_TRUNK_FAILURE USER_REJECTED sip_401 sip_402 sip_407"],',
      ['"USER_REJECTED UNKNOWN_REASON', '"UNKNOWN_REASON'],
    ],
  ]),
];

const ofBreakers = mutantsOf(
  ["refusals", "forbidden-countries"].map((name) => `test/unit/dialer/${name}.test.ts`),
  [
    [
      "a placed call ends a run of refusals, however many count meanwhile",
      "if (isPlaced) await endRefusals(refusalsOf(call), read, deps);",
      "",
    ],
    [
      "an alarm names the countries of what was refused",
      '...(countries.length === 0 ? {} : { countries: countries.toSorted().join(" ") }),',
      "",
    ],
    ["one alarm tells of an agent", 'return (all?.["alarms"] ?? 0) > 1;', "return false;"],
    [
      "a placed call has the next refusal of its agent raise an alarm",
      'if (isPlaced && cause === "agent_refused") await resetCounters(agentAlarmsOf(call), deps);',
      "",
    ],
    [
      "an agent that took a call within the hour is late",
      "if (outcome.isAbsent === true && (await wasSeen(call, deps))) {",
      'if (outcome.code === "") {',
    ],
    [
      "an agent that took a call over an hour ago is not late",
      'return (note?.value["at"] ?? -Infinity) > clock.now() - hourMs;',
      "return clock.now() > hourMs;",
    ],
  ],
);

/** Rules about whose fault an answer is, and what a call's end is taken for. */
export const answerMutants: readonly Mutant[] = [
  ...ofTelnyx,
  ...ofAgents,
  ...ofOthers,
  ...ofBreakers,
];
