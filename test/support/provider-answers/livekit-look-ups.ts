import { expect } from "vitest";
import type { LookUpFixture } from "#test/contracts/provider-bench.ts";

const headers = {
  authorization: expect.stringMatching(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/),
  "content-type": "application/json",
};
const participantsOf = (id: string, attempt = 1) => ({
  path: "/twirp/livekit.RoomService/ListParticipants",
  headers,
  body: { room: `${id}-${attempt}` },
});
const page = "livekit/protocol, livekit_room.proto: ListParticipantsResponse";
const agent = { sid: "PA_0", identity: "agent-AJ_1", state: "ACTIVE", kind: "AGENT" };
const callee = {
  sid: "PA_1",
  identity: "callee",
  state: "ACTIVE",
  attributes: { "sip.callID": "SCL_1", "sip.callStatus": "ringing", "sip.x": "" },
};

export const livekitLookUps: LookUpFixture[] = [
  {
    page,
    says: "the callee in the room of the call and attempt",
    asks: ({ id }) => [participantsOf(id)],
    answers: () => [{ participants: [agent, callee] }],
    found: { by: "id", providerCallId: "SCL_1" },
  },
  {
    page: `${page}, of a later attempt`,
    says: "the callee without the attributes of SIP",
    attempt: 3,
    asks: ({ id }) => [participantsOf(id, 3)],
    answers: () => [{ participants: [{ ...callee, attributes: {} }] }],
    found: { by: "id", providerCallId: "PA_1" },
  },
  {
    page: `${page}, nobody but the agent`,
    says: "nobody but the agent",
    asks: ({ id }) => [participantsOf(id)],
    answers: () => [{ participants: [agent] }],
    found: undefined,
  },
  {
    page: `${page}, an empty room`,
    says: "nobody",
    asks: ({ id }) => [participantsOf(id)],
    answers: () => [{}],
    found: undefined,
  },
];
