import type { CampaignDetail, Campaigns as CampaignList } from "#shared/answers/answers.ts";
import { addressOf, type Place } from "../data/address.ts";
import { Shown, useLive } from "../parts/desk.tsx";
import { Export } from "../parts/export.tsx";
import { Progress } from "../parts/progress.tsx";
import { lengthText, rateText } from "../parts/result-texts.ts";
import { Totals } from "../results/results.tsx";
import { Age, counted, countText, Fact, Table, Time } from "../parts/shared.tsx";
import { WhyCard } from "../parts/why.tsx";

/** The list reads the usage of a month, and a campaign up to ten thousand rows. */
const refreshMs = 60_000;

/** Campaigns with their results, or one of them if the URL names it and its client. */
export function Campaigns({ place }: { place: Place }) {
  const { id, query } = place;
  const client = query["client"];
  return id === undefined || client === undefined ? (
    <List />
  ) : (
    <One key={`${client} ${id}`} name={id} client={client} />
  );
}

const columns = [
  "Campaign",
  "Client",
  "Began in the hour of",
  "Requests",
  "Calls",
  "Placed",
  "Answered",
  "Answer rate",
  "Mean length",
  "Opted out",
  "Cost",
];

function costText(cost: CampaignDetail["results"]["cost"]): string {
  return cost.length === 0
    ? "–"
    : cost.map(({ amount, currency }) => `${amount} ${currency}`).join(", ");
}

function List() {
  const live = useLive<CampaignList>("/campaigns", refreshMs);
  return (
    <Shown live={live} what="The campaigns">
      {({ campaigns, left_out, from }) =>
        campaigns.length === 0 ? (
          <p class="card">
            No campaign has had calls since <Time at={from} />. Requests with the same{" "}
            <code>Call-Campaign</code> header are one.
          </p>
        ) : (
          <section class="card" aria-labelledby="campaigns">
            <h3 id="campaigns">
              Since <Time at={from} />
            </h3>
            <Table label="Campaigns" columns={columns}>
              {campaigns.map((one) => (
                <Row key={JSON.stringify([one.client, one.name])} campaign={one} />
              ))}
            </Table>
            {left_out === 0 ? null : (
              <p class="hint">Left out: {counted(left_out, "earlier campaign")}.</p>
            )}
            <Export of="campaigns" />
          </section>
        )
      }
    </Shown>
  );
}

function Row({ campaign }: { campaign: CampaignList["campaigns"][number] }) {
  const { name, client, results } = campaign;
  return (
    <tr>
      <th scope="row">
        <a href={addressOf("campaigns", { id: name, client })}>{name}</a>
      </th>
      <td>{client}</td>
      <td>
        <Time at={campaign.first_accepted_at} />
      </td>
      <td class="figure">{countText(campaign.requests)}</td>
      <td class="figure">{countText(campaign.accepted)}</td>
      <td class="figure">{countText(campaign.placed)}</td>
      <td class="figure">{countText(results.completed)}</td>
      <td class="figure">{rateText(campaign.answer_rate)}</td>
      <td class="figure">{lengthText(campaign.mean_seconds)}</td>
      <td class="figure">{countText(campaign.opted_out)}</td>
      <td class="figure">{costText(campaign.cost)}</td>
    </tr>
  );
}

function One({ name, client }: { name: string; client: string }) {
  const path = `/campaign?${new URLSearchParams({ name, client }).toString()}`;
  const live = useLive<CampaignDetail>(path, refreshMs);
  return (
    <>
      <p>
        <a href={addressOf("campaigns")}>All campaigns</a>
      </p>
      <Shown live={live} what="The campaign">
        {(data) => <Detail campaign={data} />}
      </Shown>
    </>
  );
}

function Detail({ campaign }: { campaign: CampaignDetail }) {
  const { name, client, progress, results, is_whole, requests_found: found } = campaign;
  return (
    <>
      <section class="card" aria-labelledby="campaign">
        <h3 id="campaign">{name}</h3>
        <dl class="facts">
          <Fact name="Client">{client}</Fact>
          <Fact name="Began">
            <Time at={campaign.first_accepted_at} />
          </Fact>
          <Fact name="Agents">{progress.agents.join(", ")}</Fact>
          <Fact name="Calls">
            {countText(progress.total)} in {counted(found, "request")}
            {is_whole ? null : " that were found; there are earlier ones"}
          </Fact>
          <Fact name="Live now">
            {progress.counted < progress.total ? "about " : ""}
            {countText(campaign.live_calls)}
          </Fact>
          <Fact name="Tries">{countText(campaign.tries)} placed</Fact>
        </dl>
        <Progress request={progress} />
      </section>
      <WhyCard asked={{ campaign: name, client }} title="Why its calls wait" />
      <section class="card" aria-labelledby="results">
        <h3 id="results">Results</h3>
        {Date.parse(campaign.results_from) <= Date.parse(campaign.first_accepted_at) ? null : (
          <p class="problem">
            Results and tries are counted since <Time at={campaign.results_from} />: earlier ones
            are missing.
          </p>
        )}
        <Totals total={results} />
      </section>
      <section class="card" aria-labelledby="parts">
        <h3 id="parts">Requests</h3>
        <ul class="rows">
          {campaign.requests.map(({ id, accepted_at, total }) => (
            <li key={id}>
              <a href={addressOf("requests", { id })}>{counted(total, "call")}</a>
              <span class="hint">
                accepted <Age at={accepted_at} />
              </span>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}
