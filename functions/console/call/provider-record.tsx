import { findAnswerMeaning } from "#shared/calls/answer-codes.ts";
import { findMeaning } from "#shared/rules/texts.ts";
import type { CallDetail } from "#shared/answers/answers.ts";
import { Fact, Reason } from "../parts/shared.tsx";

/** Addresses in providers' dashboards of the list of calls, and of one call by its id. Others have no such address. */
const dashboards: Readonly<Record<string, { list: string; call: string }>> = {
  retell: {
    list: "https://dashboard.retellai.com/call-history",
    call: "https://dashboard.retellai.com/call-history?history=",
  },
  twilio: {
    list: "https://www.twilio.com/console/voice/calls/logs",
    call: "https://www.twilio.com/console/voice/calls/logs/",
  },
  vapi: { list: "https://dashboard.vapi.ai/calls", call: "https://dashboard.vapi.ai/calls/" },
};

/** Pages of providers that explain their error numbers. */
const errorPages: Readonly<Record<string, string>> = {
  twilio: "https://www.twilio.com/docs/api/errors/",
};

/** Returns the code of the provider's last answer that a call's history has; undefined if none stands there. */
function answerCodeOf({ history }: CallDetail): string | undefined {
  return history.findLast(({ reason }) => findMeaning(reason) === undefined)?.reason;
}

/** The provider's last answer in words, and a link to the provider's own record or list of calls. */
export function ProviderFacts({ call }: { call: CallDetail }) {
  const code = answerCodeOf(call);
  const { provider: type, provider_call_id: id } = call;
  const dashboard = type === null ? undefined : dashboards[type];
  return (
    <>
      {code === undefined ? null : (
        <Fact name="Its answer">
          <Reason code={code} />
          {findAnswerMeaning(code) === undefined ? (
            <span class="hint">
              {" "}
              <OwnCode code={code} />
            </span>
          ) : null}
        </Fact>
      )}
      {dashboard === undefined ? null : (
        <Fact name="Dashboard">
          <Elsewhere to={id === null ? dashboard.list : dashboard.call + encodeURIComponent(id)}>
            {id === null ? `Calls at ${type}` : `This call at ${type}`}
          </Elsewhere>
        </Fact>
      )}
    </>
  );
}

/** A provider's own code, such as `twilio_21211`, with the page that explains it if there is one. */
function OwnCode({ code }: { code: string }) {
  const [, name = "", number = ""] = /^([a-z]+)_(\d+)$/.exec(code) ?? [];
  const page = errorPages[name];
  if (page === undefined) return <>A code of the provider: its reference explains it.</>;
  return <Elsewhere to={page + number}>What {name} says about it</Elsewhere>;
}

function Elsewhere({ to, children }: { to: string; children: string | (string | number)[] }) {
  return (
    <a href={to} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}
