/**
 * Facts of a provider that a person must know beside what its fixtures tell: of its answers, and of its records. `npm run
 * pages` makes a page of each in docs/providers.
 */
export const providerNotes: Readonly<Record<string, { answers: string[]; records: string[] }>> = {
  "Amazon Connect": {
    answers: [
      "Errors are identified by name, in `x-amzn-errortype` or `__type`, and only with a refusing status.",
      "`RequestAbortedException` is a 400 and leaves the outcome open.",
      "Other names than those listed are not documented.",
      "Nothing is looked up: a repeated `ClientToken` returns the contact that it started.",
    ],
    records: [
      "Its reference only mentions `DisconnectReason` in DescribeContact: the words are those of contact records, read from copies of that page in others' repositories.",
      "`AnsweringMachineDetectionStatus` applies to campaigns.",
      "A contact does not include its attributes.",
    ],
  },
  Bland: {
    answers: [
      "Errors have no code, and 429 has three meanings that only its message distinguishes.",
      "Lists do not contain `metadata`, and an older example has numbers without country code, so each call to the number in that time is read again by its id.",
      "A call that Bland accepted may wait in its queue.",
    ],
    records: [
      "What `failed` and `canceled` imply about an answer is not documented.",
      "The list has no `status`, so each call is read by its id.",
    ],
  },
  ElevenLabs: {
    answers: [
      "`detail` may be an object, an array or a text.",
      "A 404 with a `detail` concerns the agent or the calling number, as the request names nothing else; its words are not documented.",
      "`success: false` may end in a SIP status, which is interpreted like LiveKit's.",
      "`GET /v1/convai/conversations?user_id=…` filters by our id, but its rows do not repeat it, so each conversation is read again by its id.",
      "A conversation does not identify its attempt, so a failed one is proof only for the first attempt.",
      "What it answers if Exotel refuses a call is not documented: `success: false` without a SIP status is unknown.",
    ],
    records: [
      "The reasons of failed conversations are not documented.",
      "SIP statuses in their error are known from users, through a SIP trunk.",
      "What an unanswered call through Twilio leaves is not documented: without a record its result is unknown.",
      "That `tool_names` of the list contains `voicemail_detection` is inferred from the tool's name.",
    ],
  },
  Exotel: {
    answers: [
      "The operator's side is tried before Exotel answers, so it says that a 500 or 504 was never placed; they are unknown all the same, as a gateway's answer proves nothing.",
      "Users have seen a number on India's registry (NDNC) refused with 403, the reference names a suspended account: the text decides.",
      "What is answered where too many calls are in progress was not found, so every 429 waits.",
      "`CustomField` comes back in callbacks, and in no list that was found.",
      "Lists have calls that have ended alone, with times whose zone is not documented: a look-up asks for the period by the clocks of India, Singapore and UTC.",
      "Numbers may lack their country code and have a zero instead, so they are compared by their last digits, seven at least.",
    ],
    records: [
      "`in-progress` is told while the phone rings, too.",
      "The length comes up to five minutes after the end, so a call whose end is told by a callback may lack it.",
      "Times are left out, as their zone is not documented.",
    ],
  },
  LiveKit: {
    answers: [
      "`meta.sip_status_code` comes from the callee's side: with 486, 480, 600 and 603 the phone rang, and no account limit was reached.",
      "`wait_until_answered` stays false.",
      "`CreateDispatch` succeeds even if no agent has that name: nobody is called until the dispatch has a job or an agent is in the room.",
      "LiveKit's own SDKs repeat requests under one `X-Livekit-Request-Id`; here each request has its own, derived from the call and the attempt, and is sent once.",
      "Metadata and attributes hold 64,000 bytes, names 256 characters.",
      "Users have seen agents join after 9 to 20 s, and `CreateDispatch` answer 404 where rooms are not created by themselves; its token grants `roomCreate`.",
      "If a call is not placed after its agent was dispatched, the agent waits in an empty room; it should leave if nobody joins.",
      "Servers since February 2025 put `twirp error unknown: ` before each text.",
    ],
    records: [
      "No record of an ended call can be read: the result comes with the project's signed event `participant_left`.",
    ],
  },
  Plivo: {
    answers: [
      "Errors have no code.",
      "Its own SDK takes every 403 to a call for a country that is not permitted (Geo Permissions), the reference also for an account that is not verified, so a 403 goes to a person unless its text names Geo Permissions; the wording is not published.",
      "A 404 cannot be about the callee.",
      "That the `request_uuid` of an answer is the `call_uuid` of the record was confirmed by its maintainers (github.com/plivo/plivo-python/issues/44), although the SDK's example of a call in progress shows two.",
      "`?status=live` lists calls in progress by their ids alone, so each call from the calling number is read, fifty at most.",
      "Calls that wait in the queue for their calls per second are not looked at: they have no time.",
      "Times of ended calls have a zone in every example and none in the reference's text: one without leaves a look-up undecided.",
    ],
    records: [
      "Words are the codes of hangup causes.",
      "Those that can come at any time of a call, such as 4000 and an unreachable `answerUrl`, are read by the answer's time and the length.",
      "`session_start` of a call in progress has no zone, and is taken for UTC.",
      "A list has 20 calls a page, so a page of results is short.",
      "Machine detection without hanging up is told to `answerUrl` alone.",
    ],
  },
  Retell: {
    answers: [
      'Errors have no code: a 422 "Cannot find requested asset" is about the agent or the calling number, as the request names nothing else.',
      '`POST /v3/list-calls` filters on top-level `metadata` values that are strings (`{"type": "string", "op": "eq", "key", "value"}`).',
      "Retell's own SDK waits up to two minutes for an answer: set `timeoutSeconds` accordingly.",
    ],
    records: [
      "For some reasons the SDK has only the name: they are classified by the call's duration.",
      "It is not documented whether calls that never connected have a `start_timestamp`, by which lists are filtered; a call that is not in the list is read by its id.",
      "`call_analysis` appears some time after the end.",
    ],
  },
  SignalWire: {
    answers: [
      "Its compatibility API is Twilio's, and so are the meanings of Twilio's error numbers; its reference lists statuses without bodies, so that other numbers follow their status.",
      "The `next_page_uri` of a list begins at the host's root: only its query is taken.",
      "Whether a queued call has a `date_created` is not documented.",
      "None of this was tested with a real account.",
    ],
    records: [],
  },
  Telnyx: {
    answers: [
      "More than 30 dials a second return 429 with 90103 and are not queued.",
      "10010 is the code of every refusal; a D-code names the subject, in `telnyx_error.error_code` or anywhere in `detail`, under 400, 403, 404 and 422.",
      "Which status a D-code comes with over the API is not documented: the article lists D14, D40, D50 and D59 with 404.",
      "D9 and D39 concern international calls alone, so they delay the call by 60 s and 15 min and open nothing.",
      "Duplicates of a `command_id` within 60 s are ignored, but their answer is not documented, so an unknown outcome is never resent.",
      "`GET /v2/call_events` has the last 24 hours' webhooks, each with its `client_state`, and `active_calls` has calls that have just begun: it is paged by cursor as its reference has it, while SDK 7.24 has page numbers.",
      "`webhook_urls` has arrays of addresses since SDK 7.20; before, it had texts.",
      "A comma in `to` starts DTMF digits.",
    ],
    records: [
      "The status of a call is available for ten minutes after its end (…/retrieve-a-call-status) and names its leg, by which events can be listed.",
      "Later only the number's latest 250 events are searched: on a busy connection an end that was not polled in time stays unknown.",
      "Which part of a webhook `metadata` contains is not documented, so it is searched.",
      "`originator_cancel` may occur after the phone has rung.",
    ],
  },
  Twilio: {
    answers: [
      "21609 and 21626 refuse the deployment's own `StatusCallback`, so its account waits: check `PUBLIC_URL`.",
      "32115 is documented for SIP trunks, about the reason that a branded call shows.",
      "21216 refuses a number, or a +1 call of an account without a profile; check whether it repeats.",
      "21219 is a trial account's own; 573002 and 573005 concern one number, on trial accounts.",
      "If `Url` is sent with `Twiml`, `Twiml` is ignored.",
      "No field of a call can hold our id.",
      "`start_time` is empty while a call is queued for its calls per second, so a look-up by `StartTime>` (on the wire `StartTime%3E=YYYY-MM-DD`, UTC) misses it: the adapter also requests queued calls, and compares `to`, `direction` and `date_created`.",
      "While `date_created` is empty, nothing is certain.",
    ],
    records: [
      "`answered_by` of a call has `human` and `machine` in its reference.",
      "The detection's reference has five more, which may appear here too.",
      "`start_time` is when the phone was dialed, so the time of the answer is the end minus the duration.",
      "A call that the callee declined is `busy` or `no-answer`.",
      "Calls that have not been dialed are not in a list by `StartTime>`.",
    ],
  },
  Ultravox: {
    answers: [
      "The format of errors is not documented.",
      "A 404 with `detail` concerns the agent, since the URL names nothing else.",
      "A call that ended with an error before anybody joined may have failed before the phone rang, so it stays UNKNOWN.",
    ],
    records: [
      "`sipDetails` is only in the specification, for calls through a SIP trunk.",
      "Through Twilio, Telnyx or Plivo every call that nobody answered is `unjoined`, so its result is `unknown`.",
    ],
  },
  Vapi: {
    answers: [
      "A 400 whose message is an array is about the call, or about the route if it names `assistantId` or `phoneNumberId`.",
      "A 400 with a text is an unknown assistant or calling number, a concurrency limit, the calling number's daily limit, the account's balance, or unclear.",
      "The page on concurrency says both that a blocked call waits for a free line and that it does not connect, so it is looked up.",
      "`call.start.error-get-transport` proves nothing: it covers any answer of the carrier to Vapi.",
      "`externalId` is the same for every attempt, so `name` identifies the attempt.",
      "Lists include transcripts: a page above 4 MiB is requested again with fewer calls.",
    ],
    records: [
      '`startedAt` is "when the call was started": it is not documented whether an unanswered call has one, so it counts only if a listed reason leaves an answer open, and a call with an unlisted reason is `unknown`.',
      "Hundreds of reasons blame a model, a voice or a transcriber: results contain only their prefixes, `call.in-progress.error-` and `pipeline-`.",
    ],
  },
  Vonage: {
    answers: [
      "Errors name their kind in the fragment of `type`, or, in an older form, by a word that follows the status.",
      "Which names `invalid_parameters` has for a call is not documented: those of the request's fields are taken for theirs, and any other follows the status.",
      "What is answered where the calling number is not rented from Vonage, where a country is not permitted, or where too many calls are in progress, was not found: a 403 `forbidden` goes to a person, every 429 waits.",
      "No field that can be read holds our id.",
      "Times are told of completed calls alone, so a look-up relies on the list's filters `date_start` and `date_end`.",
      "Whether a call is listed by the time of its request is not documented.",
      "A request that reaches another region does not find a call.",
    ],
    records: [
      "The zone of `start_time` and `end_time` is not documented: they are taken for UTC, as those of events.",
      "`start_time` may be that of the dialing or of the answer, so the time of the answer is the end minus the duration.",
      "Machine detection is told by events alone, so no route requests it.",
    ],
  },
  Webhook: {
    answers: ["It is yours: [webhook.md](../webhook.md) says what it may answer."],
    records: [],
  },
};
