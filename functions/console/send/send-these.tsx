import { useEffect, useRef, useState } from "preact/hooks";
import type { FoundFile } from "#shared/answers/answers.ts";
import { messageOf, useDesk } from "../parts/desk.tsx";
import type { LeadsChecked } from "#shared/leads/check-leads.ts";
import type { DividedLeads } from "#shared/leads/divide-leads.ts";
import type { Lead } from "#shared/leads/read-leads.ts";
import { type SendingProgress, sendLeads } from "#shared/leads/send-leads.ts";
import { type Sender, sendingTo } from "../parts/senders.tsx";
import { counted, countText, Time } from "../parts/shared.tsx";

type Lost = "accepted" | "not_accepted";

/** Leads that were checked for a client and a campaign. */
export interface CheckedLeads extends LeadsChecked, Pick<FoundFile, "sent"> {
  sender: Sender;
  divided: DividedLeads;
  leads: readonly Lead[];
  campaign: string;
}

/** The choices of a person whose leads were sent or begun before. */
export function useChoices() {
  const [isAgain, setIsAgain] = useState(false);
  const [lost, setLost] = useState<Lost>();
  return { isAgain, setIsAgain, lost, setLost };
}

interface ToSend {
  checked: CheckedLeads;
  /** Number of leads, without those that are not sent. */
  count: number;
  choices: ReturnType<typeof useChoices>;
}

/** Sends the checked leads, shows the progress, and links to their campaign. */
export function SendThese({ checked, count, choices }: ToSend) {
  const { sent, campaign } = checked;
  const { isAgain, setIsAgain, lost, setLost } = choices;
  const { progress, problem, isRunning, send, stop } = useSend(checked);
  const isBlocked = sent !== null && (sent.is_finished || sent.campaign !== campaign);
  const lostPart = sent?.parts.find(({ is_lost }) => is_lost);
  const isDecided = lostPart === undefined || lost !== undefined;
  const isReady = count > 0 && (isAgain || (!isBlocked && isDecided));
  if (progress !== undefined && progress.partsSent === progress.parts) {
    return (
      <section class="card" aria-labelledby="send">
        <h3 id="send">Send</h3>
        <p>
          {counted(progress.calls, "call")} accepted. Show{" "}
          <a href={campaignAddress(checked)}>campaign {campaign}</a>.
        </p>
      </section>
    );
  }
  return (
    <section class="card" aria-labelledby="send">
      <h3 id="send">Send</h3>
      <Whose sender={checked.sender} />
      <SentBefore checked={checked} isAgain={isAgain} choose={setIsAgain} />
      {lostPart === undefined || isAgain ? null : (
        <LostPart index={lostPart.index} at={lostPart.begun_at} lost={lost} choose={setLost} />
      )}
      <p class="line">
        <button
          type="button"
          class="grave"
          disabled={!isReady || isRunning}
          onClick={() => void send({ isAgain, lost })}
        >
          Send these {countText(count)}
        </button>
        {isRunning ? (
          <button type="button" onClick={stop}>
            Stop after this part
          </button>
        ) : null}
      </p>
      {progress === undefined ? null : (
        <p>
          {progress.partsSent} of {progress.parts} parts are sent, {countText(progress.calls)}{" "}
          calls.
        </p>
      )}
      {problem === undefined ? null : (
        <p class="problem">
          {problem} What was sent is recorded: to continue, send the same file as the same campaign.
        </p>
      )}
    </section>
  );
}

/** Sends checked leads, and shows the progress. */
function useSend({ sent, divided, leftOut, campaign, sender: { client } }: CheckedLeads) {
  const { say, postFor } = useDesk();
  const [progress, setProgress] = useState<SendingProgress>();
  const [problem, setProblem] = useState<string>();
  const { run, ...running } = useSending();
  const send = ({ isAgain, lost }: { isAgain: boolean; lost: Lost | undefined }) =>
    run(async (checkStopped) => {
      setProblem(undefined);
      const left = new Set(leftOut.map(({ lead }) => lead.call.phone_number));
      try {
        const result = await sendLeads(
          { ...divided, campaign, leftOut: left, lost, ...(isAgain && { again: sent?.round }) },
          setProgress,
          sendingTo(postFor(client), checkStopped),
        );
        say(`Sent: ${counted(result.calls, "call")} as campaign ${campaign}.`);
      } catch (error) {
        setProblem(messageOf(error));
        say("Not all leads were sent.");
      }
    });
  return { progress, problem, send, ...running };
}

/** Runs a sending, one at a time, and stops it between two requests when asked to or when the view is left. */
function useSending() {
  const [isRunning, setIsRunning] = useState(false);
  const isStopped = useRef(false);
  const stop = () => {
    isStopped.current = true;
  };
  useEffect(() => {
    isStopped.current = false;
    return stop;
  }, []);
  useEffect(() => {
    if (!isRunning) return undefined;
    const warn = (event: Event) => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isRunning]);
  const isBusy = useRef(false);
  const run = async (work: (checkStopped: () => void) => Promise<void>) => {
    if (isBusy.current) return;
    isBusy.current = true;
    isStopped.current = false;
    setIsRunning(true);
    await work(() => {
      if (isStopped.current) throw new Error("Sending was stopped.");
    });
    isBusy.current = false;
    setIsRunning(false);
  };
  return { isRunning, run, stop };
}

/** Warning that the file was sent before, with the choice to send it once more. */
function SentBefore({
  checked: { sent, campaign },
  isAgain,
  choose,
}: {
  checked: CheckedLeads;
  isAgain: boolean;
  choose(isAgain: boolean): void;
}) {
  if (sent === null) return null;
  const done = sent.parts.filter(({ state }) => state === "sent").length;
  const isResumed = !sent.is_finished && sent.campaign === campaign;
  return (
    <>
      <p class={isResumed ? "" : "problem"}>
        {sent.is_finished
          ? "These leads were sent at "
          : `${done} of ${sent.parts.length} parts of these leads were sent since `}
        <Time at={sent.at} /> as campaign {sent.campaign}.{" "}
        {isResumed
          ? "Sending continues with the other parts."
          : sent.is_finished
            ? "Nobody among them is called again."
            : `To send the other parts, name the campaign ${sent.campaign}.`}
      </p>
      <label class="choice">
        <input
          type="checkbox"
          checked={isAgain}
          onChange={(event) => choose(event.currentTarget.checked)}
        />
        Call all of them again, also those who were called
      </label>
    </>
  );
}

/** Question about a part whose answer was lost too long ago to repeat it. */
function LostPart({
  index,
  at,
  lost,
  choose,
}: {
  index: number;
  at: string | null;
  lost: Lost | undefined;
  choose(lost: Lost): void;
}) {
  const options: [Lost, string][] = [
    ["accepted", "It was accepted: continue after it"],
    ["not_accepted", "It was not accepted: send it"],
  ];
  return (
    <fieldset>
      <legend>
        Part {index + 1} was begun at <Time at={at} />, and its answer was lost. Look among the
        campaign's requests of that time.
      </legend>
      {options.map(([value, texts]) => (
        <label class="line" key={value}>
          <input type="radio" name="lost" checked={lost === value} onChange={() => choose(value)} />
          {texts}
        </label>
      ))}
    </fieldset>
  );
}

function Whose({ sender: { client, is_test } }: Pick<CheckedLeads, "sender">) {
  const how = is_test ? ", as tests: nobody is phoned." : ".";
  return (
    <p>
      For the client {client}
      {how}
    </p>
  );
}

function campaignAddress({
  campaign,
  sender: { client },
}: Pick<CheckedLeads, "campaign" | "sender">): string {
  return `#/campaigns/${encodeURIComponent(campaign)}?${new URLSearchParams({ client }).toString()}`;
}
