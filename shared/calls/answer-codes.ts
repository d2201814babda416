/** Meaning of each code of a provider's answer that its form does not explain, in one sentence for operators. */
export const answerCodes = {
  account_limit: "The account's money or subscription does not permit calls.",
  agent_absent: "No LiveKit agent came to the room: nobody was called.",
  agent_unseen: "It could not be seen whether a LiveKit agent is in the room: nobody was called.",
  answer_unreadable: "The provider answered 2xx without naming the call: it may have been placed.",
  assistant_not_found: "Vapi does not know the route's assistant.",
  assistant_version: "Vapi does not know the version of the route's assistant.",
  concurrency_blocked: "Vapi accepted the call while all lines were busy: it may be placed later.",
  concurrency_limit: "All lines of the account were busy: nobody was called.",
  connection_broken:
    "The connection broke after the request may have left: the call may have been placed.",
  invalid_provider_config: "The calling number's connection at ElevenLabs is not set up.",
  livekit_no_numbers: "LiveKit's outbound trunk has no number.",
  number_daily_limit: "The calling number has reached its daily limit.",
  number_international: "The calling number may not call abroad.",
  phone_number_not_found: "Vapi does not know the route's calling number.",
  recording_consent:
    "The assistant asks for consent to recording, which the account's plan at Vapi lacks.",
  sip: "The callee's side answered with a SIP status that cannot be read.",
  success_false: "ElevenLabs reported no success, and no SIP status: it may have called.",
  time_out: "No answer came within timeoutSeconds: the call may have been placed.",
  vapi_fault: "A fault at Vapi ended the call before it had started.",
} as const satisfies Record<string, string>;

/** Meanings of statuses that say more than their class. */
const statuses: Readonly<Record<string, string>> = {
  401: "The provider does not accept the account's credentials (401): nobody was called.",
  402: "The provider asks for payment (402): nobody was called.",
  403: "The provider forbids this (403), and does not say whether it means the account or the call.",
  404: "The provider does not know what the request names (404): nobody was called.",
  408: "The provider waited too long for the request (408): the call may have been placed.",
  409: "The provider has a conflict with the request (409): the call may have been placed.",
  429: "The provider accepts no more calls at the moment (429): nobody was called.",
};

/** Meanings by the form of the code. `$1` stands for the part in brackets. */
const forms: readonly [RegExp, string][] = [
  [/^http_(5\d\d)$/, "The provider failed with the status $1: the call may have been placed."],
  [/^http_(4\d\d)$/, "The provider refused the request with the status $1."],
  [/^http_(\d{3})$/, "The provider answered with the status $1."],
  [/^sip_(\d{3})$/, "The callee's side answered with the SIP status $1."],
  [/^dispatch_(.+)$/, "LiveKit did not accept the dispatch of the agent ($1): nobody was called."],
  [/^e(?:conn|not|ai_|host|net)[a-z_]+$/, "Nothing left this service: it could not connect."],
];

/** Returns the meaning of the code of a provider's answer; undefined for a number of the provider's own. */
export function findAnswerMeaning(code: string): string | undefined {
  const named = Object.entries(answerCodes).find(([known]) => known === code)?.[1];
  const ofStatus = /^http_(\d{3})$/.exec(code)?.[1] ?? "";
  const [form, sentence] = forms.find(([one]) => one.test(code)) ?? [];
  return named ?? statuses[ofStatus] ?? (form && code.replace(form, sentence ?? ""));
}
