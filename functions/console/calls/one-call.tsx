import { useEffect, useRef } from "preact/hooks";
import type { CallDetail } from "#shared/answers/answers.ts";
import { Actions } from "../call/decisions.tsx";
import { Shown, useLive, WithRole } from "../parts/desk.tsx";
import { CallFacts, SameNumber, Timeline } from "../call/call-facts.tsx";

/** One call beside the list: its facts, its timeline, and the possible actions. */
export function OneCall({ id, closeTo }: { id: string; closeTo: string }) {
  const live = useLive<CallDetail>(`/calls/${encodeURIComponent(id)}`);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [id]);
  return (
    <section class="card" aria-labelledby="call">
      <p class="line spread">
        <a href={closeTo}>Close</a>
      </p>
      <h3 id="call" tabIndex={-1} ref={heading}>
        Call {id}
      </h3>
      <Shown live={live} what="The call">
        {(call) => (
          <>
            <CallFacts call={call} />
            <WithRole role="decide">
              <Actions call={call} />
            </WithRole>
            <h4>What happened</h4>
            <Timeline call={call} />
            <h4>Other calls to the number</h4>
            <SameNumber id={id} />
          </>
        )}
      </Shown>
    </section>
  );
}
