import type { Backlogs, Pauses } from "#shared/answers/answers.ts";
import { PauseButton } from "../parts/pause.tsx";
import { countText } from "../parts/shared.tsx";

/** The clients whose calls wait in the backlogs that are shown, each with its pause. */
export function WaitingClients({
  backlogs: { backlogs },
  pauses,
}: {
  backlogs: Backlogs;
  pauses: Pauses | undefined;
}) {
  const byClient = Map.groupBy(backlogs, ({ client }) => client);
  return (
    <ul class="rows" aria-label="Clients whose calls wait">
      {[...byClient].map(([client, own]) => {
        const isMore = own.some(({ waiting_is_whole: isWhole }) => !isWhole);
        const calls = own.reduce((sum, { waiting }) => sum + waiting, 0);
        return (
          <li key={client}>
            <span>
              <b>{client}</b>: {isMore ? "at least " : ""}
              {countText(calls)} waiting in the{" "}
              {own.length === 1 ? "backlog" : `${own.length} backlogs`} below
            </span>
            <PauseButton what={{ client }} pauses={pauses} />
          </li>
        );
      })}
    </ul>
  );
}
