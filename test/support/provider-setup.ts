/** A provider as a user sets it up. `npm run pages` makes a part of its page of it, and the tests parse each plan. */
interface ProviderSetup {
  /** The agents' route. */
  route: Record<string, unknown>;
  /** Settings of the account that the provider needs or that are wise. */
  account?: Record<string, unknown>;
  /** Countries that the example allows. Default: US. */
  country?: string;
  /** List of things to set up. It names every field of the route. */
  steps: string[];
  /** Where a call's context goes, and what it may hold. */
  context: string;
  /** Name of the field that takes `maxCallMinutes`. Absent: the provider takes none. */
  duration?: string;
  /** Facts that are not documented. */
  open?: string;
}

const twilioLike = {
  machines:
    "**Optional**: `machineDetection` (`Enable`, `DetectMessageEnd`); `ringSeconds` (`Timeout`, 1 to 600)",
  context: "`<Parameter>`s of the stream. 4,000 characters in all, 500 each",
};

/** Setups by the provider's type. */
const providerSetups: Readonly<Record<string, ProviderSetup>> = {
  webhook: {
    route: { provider: "webhook", url: "https://calls.example.com/dial" },
    account: { timeoutSeconds: 30 },
    steps: [
      "**Server**: [webhook.md](../webhook.md) says what `url` receives, and what `idempotent` promises.",
      "**Secret**: `WEBHOOK_SECRET`, made by `npm run secrets -- webhook`; the server needs the same. The name of an account must not end in `-api`.",
    ],
    context: "the body",
  },
  twilio: {
    route: { provider: "twilio", from: "+12025550100", stream: "wss://voice.example.com/twilio" },
    account: { callsPerSecond: 1 },
    steps: [
      "**Number**: `from`, bought or verified there.",
      "**Countries**: enable them under Voice, Geo permissions.",
      "**Answered calls**: `stream`, your WebSocket for Media Streams; or `answerUrl`, which returns TwiML and receives the call's id.",
      "**Secrets**: `TWILIO_ACCOUNT_SID` and `TWILIO_AUTH_TOKEN`. Better: an API key that may create and list calls (SID in `apiKey`, secret in `TWILIO_AUTH_TOKEN`).",
      `${twilioLike.machines}; \`callReason\`, for branded calls.`,
    ],
    context: `${twilioLike.context}. None with \`answerUrl\`.`,
    duration: "`TimeLimit`",
  },
  signalwire: {
    route: {
      provider: "signalwire",
      from: "+12025550100",
      stream: "wss://voice.example.com/calls",
    },
    account: { baseUrl: "https://example.signalwire.com" },
    steps: [
      "**Space**: its address is `baseUrl`, without a path.",
      "**Number**: `from`, bought or verified there.",
      "**Answered calls**: `stream` or `answerUrl`, as with [Twilio](twilio.md).",
      "**Secrets**: `SIGNALWIRE_PROJECT_ID`, and `SIGNALWIRE_API_TOKEN` with the scope Voice.",
      `${twilioLike.machines}.`,
    ],
    context: `${twilioLike.context}. None with \`answerUrl\`.`,
    duration: "`TimeLimit`",
  },
  telnyx: {
    route: {
      provider: "telnyx",
      connection: "1494404757140276705",
      from: "+12025550100",
      agent: "assistant-1a2b3c",
    },
    steps: [
      "**Application**: `connection`, the id of a Call Control application with a webhook URL and a voice profile that allows the countries.",
      "**Number**: `from`, assigned to that application.",
      "**Answered calls**: `agent`, an AI assistant. Without it your webhook handles the call.",
      "**Secret**: `TELNYX_API_KEY`, of version 2.",
      "**Optional**: `machineDetection` (`premium`, `detect`, `detect_beep`, `detect_words`, `greeting_end`); `ringSeconds` (5 to 600); `callbacks`.",
    ],
    context: "`dynamic_variables`; without an assistant `client_state`.",
    duration: "`time_limit_secs`",
  },
  vapi: {
    route: {
      provider: "vapi",
      agent: "5b0a4a08-133c-4146-9315-0984f8c6be80",
      from: "42b4b25d-031e-4786-857f-63b346c9580f",
    },
    steps: [
      "**Assistant**: its id is `agent`; `{{first_name}}` in its prompt.",
      "**Number**: `from`, the id of a number from your carrier; Vapi's own have a daily limit.",
      "**Secret**: `VAPI_API_KEY`, the private key.",
      "**Call-backs**: give the structured data, or a structured output, a text field `call_back_at` ([call-backs.md](../call-backs.md)).",
    ],
    context: "`variableValues`.",
    duration: "`maxDurationSeconds`",
  },
  retell: {
    route: {
      provider: "retell",
      agent: "agent_0123456789abcdef0123456789",
      from: "+12025550100",
    },
    account: { timeoutSeconds: 60 },
    steps: [
      "**Number**: `from`, bought or imported there.",
      "**Agent**: its id is `agent`. Without it the number's outbound agent handles the call.",
      "**Secret**: `RETELL_API_KEY`.",
      "**Opt-outs**: give the post-call analysis a Boolean field `do_not_call`. With `results`, true puts the number on the do-not-call list, at the callback after the analysis (`callbacks`) or within 45 minutes.",
      "**Time**: Retell may take a minute to answer.",
      "**Call-backs**: give the post-call analysis a text field `call_back_at` ([call-backs.md](../call-backs.md)).",
    ],
    context: "`retell_llm_dynamic_variables`.",
    duration: "`max_call_duration_ms`, two hours at most",
  },
  elevenlabs: {
    route: {
      provider: "elevenlabs",
      agent: "agent_3701k3ttaq12ewp8b7qv5rfyszkz",
      from: "phnum_0123456789abcdef",
      through: "twilio",
    },
    steps: [
      "**Agent**: its id is `agent`. It must allow the dynamic variables of your context.",
      "**Number**: `from` is its id, `through` where it was imported from: `twilio`, `exotel` or `sip-trunk`. Through a SIP trunk the phone rings for `timeoutSeconds` less 5 s.",
      "**Secret**: `ELEVENLABS_API_KEY`, with the right to start calls and read conversations.",
      "**Call-backs**: give the data collection a text item `call_back_at` ([call-backs.md](../call-backs.md)).",
    ],
    context: "`dynamic_variables`; no names that begin with `system__`.",
  },
  livekit: {
    route: { provider: "livekit", agent: "sales-agent", trunk: "ST_abc123" },
    account: { baseUrl: "https://my-project.livekit.cloud" },
    steps: [
      "**Project**: its URL is `baseUrl`, with `https` instead of `wss`.",
      "**Agent**: a running worker, registered under the name `agent`. It should leave a room that nobody joins.",
      "**Trunk**: an outbound trunk with your number. Its id is `trunk`.",
      "**Secrets**: `LIVEKIT_API_KEY` and `LIVEKIT_API_SECRET`.",
      "**Time**: the agent has `agentWaitSeconds` to join (5 to 60, default 20, at most two thirds of `timeoutSeconds`). Raise both if calls wait with `agent_absent`.",
    ],
    context: "the dispatch's metadata, with `call_id` and `agent_id`; 64,000 bytes.",
    duration: "`max_call_duration`",
  },
  "amazon-connect": {
    route: {
      provider: "amazon-connect",
      region: "us-west-2",
      instance: "00fbeee1-123e-111e-93e3-11111bfbfcc1",
      flow: "846ec553-a005-41c0-8341-000000000000",
      from: "+12025550100",
    },
    steps: [
      "**Instance**: in `region`, with outbound calls enabled. `instance` is the last part of its ARN, `flow` that of a published flow's ARN.",
      "**Number**: `from`, claimed for the instance.",
      "**On AWS**: no secret, if the instance is in `infra/dial-plan.json` and in the stack's AWS account.",
      "**Elsewhere**: `AMAZON_CONNECT_ACCESS_KEY_ID` and `AMAZON_CONNECT_SECRET_ACCESS_KEY` of an IAM user with only `connect:StartOutboundVoiceContact` and `connect:DescribeContact` on `arn:aws:connect:REGION:ACCOUNT:instance/INSTANCE/contact/*`.",
      "**Unknown outcomes** are resent with the same `ClientToken`, unless `idempotent` is false. It starts one contact in seven days ([decision 0022](../decisions/0022-amazon-connect-is-sent-a-call-again.md)).",
    ],
    context:
      "attributes (`$.Attributes.first_name`), with `call_id`. Names of letters, digits, `-` and `_`; 32,768 bytes.",
  },
  ultravox: {
    route: {
      provider: "ultravox",
      agent: "3c90c3cc-0d44-4b50-8888-8dd25736052a",
      through: "twilio",
      from: "+12025550100",
    },
    steps: [
      "**Agent**: its id is `agent`; `{{first_name}}` in its prompt. Set its `joinTimeout` as long as a phone may ring.",
      "**Carrier**: `through` is `twilio`, `telnyx` or `plivo`, your account in Ultravox's telephony settings; `from` is one of its numbers.",
      "**SIP**: `through` is `sip`, with `sipHost` and, if the trunk needs it, `sipUser` and the secret `ULTRAVOX_SIP_PASSWORD`.",
      "**Secret**: `ULTRAVOX_API_KEY`.",
      "**Pace**: 30 calls a minute and 5 at once without a subscription.",
      "**Call-backs**: give a tool a parameter `call_back_at` ([call-backs.md](../call-backs.md)).",
    ],
    context: "`templateContext`.",
    duration: "`maxDuration`",
    open: "its answer if the carrier refuses a call.",
  },
  bland: {
    route: {
      provider: "bland",
      pathway: "a0f0d4ed-f5f5-4f16-b3f9-22166594d7a7",
      from: "+12025550100",
    },
    steps: [
      "**Agent**: `pathway` (its id) or `task` (instructions); both may use `{{first_name}}`.",
      "**Number**: `from`, bought at Bland, not in your Twilio account. Without it: Bland's own numbers.",
      "**Secret**: `BLAND_API_KEY`.",
      "**Limits**: your plan's, and one call per number in ten seconds.",
      "**Call-backs**: have a pathway or a tool set a variable `call_back_at` ([call-backs.md](../call-backs.md)).",
    ],
    context: "`request_data`.",
    duration: "`max_duration`",
    open: "the wording for a blocked number and an empty balance.",
  },
  exotel: {
    route: { provider: "exotel", from: "08047091234", flow: "926" },
    account: { baseUrl: "https://api.in.exotel.com", callsPerSecond: 1, timeoutSeconds: 60 },
    country: "IN",
    steps: [
      "**Region**: `baseUrl` is `https://api.in.exotel.com` for Mumbai; without it Singapore.",
      "**Number**: `from`, an ExoPhone as the dashboard shows it.",
      "**Answered calls**: `flow`, the id of a call flow with a Voicebot or Stream applet. It receives the call's id as `CustomField`.",
      "**Secrets**: `EXOTEL_ACCOUNT_SID`, `EXOTEL_API_KEY` and `EXOTEL_API_TOKEN`.",
      "**Time**: allow 60 s for an answer. `ringSeconds` is `TimeOut`.",
      "**India**: a number on the NDNC registry is refused (`exotel_ndnc`).",
    ],
    context: "none: a call with a context is refused.",
    duration: "`TimeLimit`",
    open: "the zone of its times; its answer to too many calls at once.",
  },
  plivo: {
    route: {
      provider: "plivo",
      from: "+12025550100",
      answerUrl: "https://voice.example.com/plivo",
    },
    account: { callsPerSecond: 1 },
    steps: [
      "**Number**: `from`, rented or verified there.",
      "**Countries**: enable them under Voice, Geo Permissions.",
      "**Answered calls**: `answerUrl`, which receives `call_id` and returns Plivo's XML.",
      "**Secrets**: `PLIVO_AUTH_ID` and `PLIVO_AUTH_TOKEN`.",
      '**Optional**: `machineDetection`: `"true"` reports to `answerUrl` who answered, `"hangup"` hangs up on a machine; `ringSeconds` (`ring_timeout`); `callbacks`.',
    ],
    context: "none: a call with a context is refused.",
    duration: "`time_limit`",
    open: "the wording of its errors.",
  },
  vonage: {
    route: { provider: "vonage", from: "+12025550100", stream: "wss://voice.example.com/vonage" },
    account: { baseUrl: "https://api-us-1.nexmo.com", callsPerSecond: 1 },
    steps: [
      "**Application**: with voice and an event URL, or `callbacks` in the route.",
      "**Secrets**: its id in `VONAGE_APPLICATION_ID`; its `private.key` in base64 in `VONAGE_PRIVATE_KEY`: `base64 -w0 private.key | npm run secrets -- set VONAGE_PRIVATE_KEY` (macOS: `base64 -i`).",
      "**Number**: `from`, rented there.",
      "**Answered calls**: `stream`, your WebSocket, which gets the context first (`sampleRate` `8000`, `16000` or `24000`); or `answerUrl`, which returns an NCCO and receives the call's id.",
      "**Region**: a call exists in one region. Set `baseUrl` to `https://api-us-1.nexmo.com`, `api-us-2`, `api-eu-1` or `api-sg-1`.",
      "**Optional**: `ringSeconds` (`ringing_timer`, 1 to 120).",
      "**Pace**: a new account has three calls a second; a stream may count.",
    ],
    context:
      "`headers` of the WebSocket: 512 bytes of JSON with `call_id` and `agent_id`; not `event` or `content-type`. None with `answerUrl`.",
    duration: "`length_timer`, two hours at most",
    open: "its answer if `from` is not yours, a country is not permitted, or too many calls are in progress.",
  },
};

/** Returns the setup of a type. @throws if it has none yet */
export function setupOf(type: string): ProviderSetup {
  const setup = providerSetups[type];
  if (setup !== undefined) return setup;
  throw new Error(`${type} has no entry in providerSetups of test/support/provider-setup.ts`);
}

/** A dial plan of one type. Its page shows the agents and the account. */
interface SetupPlan {
  agents: object;
  providers?: object;
  callingHours: object;
  destinations: object;
}

/** Returns the dial plan of a type. @throws if it has no setup yet */
export function setupPlan(type: string): SetupPlan {
  const { route, account, country = "US" } = setupOf(type);
  return {
    agents: { "*": route },
    ...(account === undefined ? {} : { providers: { [type]: account } }),
    callingHours: { default: country === "US" ? "us-federal" : "india" },
    destinations: { allow: [country] },
  };
}
