/**
 * `npm run sdks`: checks the request by which each adapter dials against the types of its provider's SDK, field by field:
 * the compiler refuses a field that the SDK does not know. Requests are taken from the adapters, with everything that a
 * route and an account may add. SignalWire shares Twilio's; Plivo's SDK has no types, Exotel, Bland and Ultravox have no
 * SDK: their stand-ins' schemas, written from the references, stand for these.
 */
import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { routeFields, startPair } from "#test/support/stand-ins.ts";
import { printHelp } from "#infra/cli/help.ts";

printHelp(`npm run sdks

Checks the request of each adapter against the types of its provider's SDK. Installs the packages of test/versions.`);

const here = import.meta.dirname;
const callbackUrl = "https://calls.example.com/callbacks/a/call_1/v1/0123456789abcdefghijkl";

/** The type of a request, and the fields of its route that add to it. */
interface Checked {
  type: string;
  imports: string;
  of: string;
  fields?: object;
}

function elevenlabsThrough(through: string, folder: string, name: string): Checked {
  const request = `BodyHandleAnOutboundCallVia${name}OutboundCallPost`;
  const resource = `conversationalAi/resources/${folder}/client/requests/${request}`;
  const path = `@elevenlabs/elevenlabs-js/serialization/resources/${resource}`;
  const imports = `import type { ${request} } from "${path}";`;
  return { type: "elevenlabs", imports, of: `${request}.Raw`, fields: { through } };
}

const checked: readonly Checked[] = [
  {
    type: "amazon-connect",
    imports: 'import type { StartOutboundVoiceContactRequest } from "@aws-sdk/client-connect";',
    of: "StartOutboundVoiceContactRequest",
  },
  elevenlabsThrough("twilio", "twilio", "TwilioV1ConvaiTwilio"),
  elevenlabsThrough("sip-trunk", "sipTrunk", "SipTrunkV1ConvaiSipTrunk"),
  elevenlabsThrough("exotel", "exotel", "ExotelV1ConvaiExotel"),
  {
    type: "retell",
    imports: 'import type { CallCreatePhoneCallParams } from "retell-sdk/resources/call";',
    of: "CallCreatePhoneCallParams",
    fields: { callbacks: true },
  },
  {
    type: "telnyx",
    imports: 'import type { CallDialParams } from "telnyx/resources/calls/calls";',
    of: "CallDialParams",
    fields: { callbacks: true, machineDetection: "premium", ringSeconds: 30, agent: "assistant-1" },
  },
  {
    type: "twilio",
    imports:
      'import type { CallListInstanceCreateOptions } from "twilio/lib/rest/api/v2010/account/call";',
    // The SDK has its own case, and sends numbers and lists as texts.
    of: "Partial<Record<Capitalize<keyof CallListInstanceCreateOptions>, string | readonly string[]>>",
    fields: { machineDetection: "Enable", ringSeconds: 30 },
  },
  {
    type: "vapi",
    imports: 'import type { Vapi } from "@vapi-ai/server-sdk";',
    of: "Vapi.CreateCallDto & { subscriptionLimits: unknown }", // the stand-in notes its limits there
  },
  {
    type: "vonage",
    imports: 'import type { CallWithNCCO, CreateCallRequest } from "@vonage/voice";',
    // The SDK types what it translates: `eventMethod` is `event_method` on the wire.
    of: "Partial<Record<keyof CreateCallRequest | keyof CallWithNCCO | 'event_method', unknown>>",
    fields: { callbacks: true },
  },
];

/** Returns the request of a type's adapter, as its stand-in has taken it. */
async function requestOf({ type, fields = {} }: Pick<Checked, "type" | "fields">) {
  const pair = await startPair(type, { fields: { ...routeFields[type], ...fields } });
  try {
    const outcome = await pair.dial({ callbackUrl, reportsAnswer: true, maxCallMinutes: 30 });
    if (outcome.kind !== "placed") throw new Error(`${type} answered ${outcome.kind}`);
    return pair.standIn.calls.placed[0]?.request;
  } finally {
    await pair.standIn.close();
  }
}

function run(command: string, args: string[]): void {
  const { status } = spawnSync(command, args, { cwd: here, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

const dist = join(here, "dist");
await mkdir(dist, { recursive: true });
for (const [index, one] of checked.entries()) {
  const body = JSON.stringify(await requestOf(one), undefined, 2);
  const text = `${one.imports}\nexport const body: ${one.of} = ${body};\n`;
  await writeFile(join(dist, `${one.type}-${index}.ts`), text);
}
const livekit = JSON.stringify(await requestOf({ type: "livekit" }));
// Its messages are read by the schema of the protocol, which throws at a field that it does not know.
const { CreateSIPParticipantRequest } = await import("@livekit/protocol");
CreateSIPParticipantRequest.fromJson(JSON.parse(livekit));
run("tsc", ["-p", "."]);
console.log(`${checked.length + 1} requests have the types of their SDKs.`);
