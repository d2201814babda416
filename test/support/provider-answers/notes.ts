/**
 * Facts of a provider that an operator must know beside what its fixtures say: of its answers, and of its results. What
 * only the adapter must know stands there. `npm run pages` makes a page of each in docs/providers.
 */
export const providerNotes: Readonly<Record<string, { answers: string[]; records: string[] }>> = {
  "Amazon Connect": {
    answers: [
      "`DestinationNotAllowedException` may concern a country, such as numbers of +447, so it blames no number ([reference](https://docs.aws.amazon.com/connect/latest/APIReference/API_StartOutboundVoiceContact.html)).",
    ],
    records: [
      "The words come from contact records: DescribeContact's reference lists none.",
      "Only campaigns have `AnsweringMachineDetectionStatus`.",
    ],
  },
  Bland: {
    answers: ["Errors have no code: the message decides."],
    records: ["`failed` and `canceled` may follow an answer, so the length decides."],
  },
  ElevenLabs: {
    answers: [
      "The text of `success: false` may end in a SIP status, read like LiveKit's; without one the outcome is unknown.",
    ],
    records: [
      "SIP statuses are known from users' logs, through a SIP trunk.",
      "Through Twilio an unanswered call may leave no record: its result is then `unknown`.",
    ],
  },
  Exotel: {
    answers: [
      "Exotel says that a 500 or 504 places no call. A gateway may send these, so they are unknown.",
      "A look-up finds only ended calls, and tries the clocks of India, Singapore and UTC.",
    ],
    records: [
      "The length comes up to five minutes after the end. Times are left out: their zone is not documented.",
    ],
  },
  LiveKit: {
    answers: [
      "`meta.sip_status_code` is the callee's side: with 486, 480, 600 and 603 the phone rang.",
    ],
    records: [
      "Ended calls have no readable record: the result comes with the signed event `participant_left`.",
    ],
  },
  Plivo: {
    answers: [
      "Errors have no code. A 403 goes to a person unless its text names Geo Permissions.",
      "A 400 stands for any missing or invalid parameter, and its text is not published: it blames no number ([overview](https://docs.plivo.com/docs/voice/api/overview)).",
      "A look-up does not find calls in Plivo's queue, and reads at most fifty calls in progress.",
    ],
    records: ["Machine detection without hanging up is reported to `answerUrl` only."],
  },
  Retell: {
    answers: [
      'Errors have no code: a 422 "Cannot find requested asset" is about the agent or the calling number.',
    ],
    records: ["`call_analysis` appears some time after the end."],
  },
  SignalWire: {
    answers: ["Error numbers are read as Twilio's, except 10004; else by status."],
    records: [],
  },
  Telnyx: {
    answers: [
      "10010 is the code of every refusal; a D-code names the cause.",
      "D9 and D39 delay one international call, by 60 s or 15 min.",
    ],
    records: [
      "A call's status is available for ten minutes after its end. Later only the number's latest 250 events are searched.",
    ],
  },
  Twilio: {
    answers: [
      "21609 and 21626 refuse our own `StatusCallback`: check `PUBLIC_URL`.",
      "21216 refuses a number, or a +1 call of an account without a profile: check whether it repeats.",
      "21219, 573002 and 573005 occur on trial accounts.",
    ],
    records: [],
  },
  Ultravox: {
    answers: [
      "A call that failed before anybody joined may have rung, so it stays UNKNOWN.",
      "No answer blames a number: errors for numbers, and calls that Twilio, Telnyx or Plivo refuse, are not documented ([outbound calls](https://docs.ultravox.ai/telephony/outbound-calls)).",
    ],
    records: [
      "Through Twilio, Telnyx or Plivo every unanswered call is `unjoined`: its result is `unknown`.",
    ],
  },
  Vapi: {
    answers: ["A call with `concurrencyBlocked` may still ring, so it is looked up."],
    records: ["Reasons that blame a model, a voice or a transcriber are stored as their prefix."],
  },
  Vonage: {
    answers: ["A request to another region does not find the call."],
    records: ["Machine detection is reported by events only, so no route requests it."],
  },
  Webhook: {
    answers: [],
    records: [],
  },
};
