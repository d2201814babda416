/** A word for a call's end that stands for several causes, some of which forbid another try. */
interface AmbiguousWord {
  providers: string[];
  word: string;
  /** Its causes. */
  means: string;
  /** Facts of the record that distinguish them; "nothing", and what follows from it. */
  by: string;
  /** The result without such facts. */
  otherwise: string;
}

/**
 * Every such word. What nothing tells apart is `unknown`, on which `retry` never acts, unless the same try is right after
 * each cause.
 */
export const ambiguousWords: readonly AmbiguousWord[] = [
  {
    providers: ["LiveKit"],
    word: "`USER_UNAVAILABLE`",
    means: "a phone that rang out; every other SIP 4xx; a silent trunk (livekit/sip 692, 861)",
    by: "`sip.callStatus`, which stays `dialing` if no phone rang, and 20 s or more from joining to leaving",
    otherwise: "`unknown`",
  },
  {
    providers: ["LiveKit"],
    word: "`USER_REJECTED`",
    means: "busy; declined; a number that does not exist; a trunk that refuses us",
    by: "nothing",
    otherwise: "`unknown`",
  },
  {
    providers: ["ElevenLabs"],
    word: "`failed`",
    means: "any end without a conversation",
    by: "the SIP status in the error's text",
    otherwise: "`unknown`",
  },
  {
    providers: ["ElevenLabs"],
    word: "SIP 603",
    means: "a callee who declined; a carrier's block",
    by: "`INVITE blocked by carrier` in the text: `blocked`",
    otherwise: "`declined`",
  },
  {
    providers: ["ElevenLabs", "Vapi"],
    word: "SIP 480",
    means: "rang out; switched off; a trunk without a free line",
    by: "nothing, and a later try is right for each",
    otherwise: "`no_answer`",
  },
  {
    providers: ["Vonage"],
    word: "`completed`",
    means: "answered; busy, timed out, unanswered, failed or cancelled, once some time has passed",
    by: "a length above zero",
    otherwise: "`unknown`",
  },
  {
    providers: ["Vonage"],
    word: "`unanswered`",
    means: "declined; not reachable. A phone that rang out is `timeout`",
    by: "nothing",
    otherwise: "`unknown`",
  },
  {
    providers: ["Vonage"],
    word: "`rejected`",
    means: "rejected by Vonage before the call was connected; declined",
    by: "nothing",
    otherwise: "`unknown`",
  },
  {
    providers: ["Bland"],
    word: "`completed`",
    means: "answered; not answered",
    by: "a length above zero, or `answered_by`",
    otherwise: "`unknown`",
  },
  {
    providers: ["Ultravox"],
    word: "`unjoined`",
    means: "rang out; busy; declined; a number that does not exist",
    by: "`sipDetails.terminationReason`, only through a SIP trunk",
    otherwise: "`unknown`",
  },
  {
    providers: ["Amazon Connect"],
    word: "`TELECOM_ORIGINATOR_CANCEL`",
    means: "rang out; cancelled by an agent or the API",
    by: "20 s or more since `InitiationTimestamp`",
    otherwise: "`unknown`",
  },
  {
    providers: ["Twilio", "SignalWire"],
    word: "`busy`, `no-answer`",
    means: "these, or a callee who declined",
    by: "nothing",
    otherwise: "the same word",
  },
  {
    providers: ["Twilio", "Exotel", "Retell"],
    word: "`failed`, `dial_failed`",
    means: "a number that does not exist; a carrier's failure",
    by: "nothing, so a `retry` after `failed` calls such numbers again",
    otherwise: "`failed`",
  },
  {
    providers: ["Telnyx"],
    word: "`call_rejected`",
    means: "a callee who declined; a carrier that refused",
    by: "nothing",
    otherwise: "`declined`",
  },
];
