import type { PlanTexts, Splits, SplitView } from "#shared/answers/answers.ts";
import { saySplit } from "#shared/answers/split-words.ts";
import { Shown, useLive } from "../parts/desk.tsx";
import { rateText } from "../parts/result-texts.ts";
import { countText, Table } from "../parts/shared.tsx";

const refreshMs = 60_000;

/** The arms of the plan's splits with their results, and the verdict on each. A plan without one asks nothing. */
export function SplitsOfPlan({ plan }: { plan: PlanTexts }) {
  const live = useLive<Splits>(plan.splits.length === 0 ? undefined : "/splits", refreshMs);
  if (plan.splits.length === 0) return null;
  return (
    <Shown live={live} what="The splits">
      {({ splits }) => (
        <>
          {splits.map((split) => (
            <OneSplit key={split.agent_id} split={split} />
          ))}
        </>
      )}
    </Shown>
  );
}

const countColumns = ["Arm", "Weight", "Ended", "Missing"];
/** Columns by which arms differ: who looks at them before the verdict finds a difference by chance. */
const outcomeColumns = ["Answered", "Completed", "Completed of ended"];

function OneSplit({ split }: { split: SplitView }) {
  const { agent_id, arms, verdict } = split;
  return (
    <section class="card" aria-label={`Split ${agent_id}`}>
      <h3>Split {agent_id}</h3>
      {saySplit(split).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <Table
        label={`Arms of ${agent_id}`}
        columns={[...countColumns, ...(verdict === null ? [] : outcomeColumns)]}
      >
        {arms.map((arm) => (
          <tr key={arm.agent_id}>
            <th scope="row">{arm.agent_id}</th>
            {[arm.weight, arm.ended, arm.missing].map((count, index) => (
              <td key={index}>{countText(count)}</td>
            ))}
            {verdict !== null && (
              <>
                <td>{countText(arm.answered ?? 0)}</td>
                <td>{countText(arm.completed ?? 0)}</td>
                <td>{rateText(arm.completed_share)}</td>
              </>
            )}
          </tr>
        ))}
      </Table>
    </section>
  );
}
