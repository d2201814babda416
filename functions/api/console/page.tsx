import { render } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { Calls } from "./calls.tsx";
import { Chart } from "./chart.tsx";
import type { Backlogs } from "../operator/backlogs.ts";
import type { Counts } from "../operator/counts.ts";
import type { Pauses } from "../operator/pauses.ts";
import { ask, AskError } from "./client.ts";
import { DoNotCall } from "./do-not-call.tsx";
import { OneCall } from "./one-call.tsx";
import { PauseList } from "./pause-list.tsx";
import type { Ask, Attempt, Filter, Say } from "./shared.tsx";
import { SignIn } from "./sign-in.tsx";
import { Waiting } from "./waiting.tsx";

const refreshMs = 10_000;
const tokenKey = "outbound-calls-operator";

const noFilter: Filter = {
  state: "NEEDS_REVIEW",
  agent_id: "",
  provider: "",
  reason: "",
  request_id: "",
  phone_number: "",
};

function Page() {
  const [token, setToken] = useState(() => sessionStorage.getItem(tokenKey) ?? "");
  const [words, setWords] = useState("");
  const leave = useCallback((why: string) => {
    sessionStorage.removeItem(tokenKey);
    setToken("");
    setWords(why);
  }, []);
  const asking = useCallback<Ask>(
    async (path, body) => {
      try {
        return await ask(token, path, body);
      } catch (error) {
        if (error instanceof AskError && error.status === 401)
          leave("The token is not an operator's, or no longer.");
        throw error;
      }
    },
    [token, leave],
  );
  const enter = (given: string) => {
    sessionStorage.setItem(tokenKey, given);
    setToken(given);
    setWords("");
  };
  return (
    <>
      <header>
        <h1>Outbound Calls</h1>
        {token === "" ? null : (
          <button type="button" class="quiet" onClick={() => leave("Signed out.")}>
            Sign out
          </button>
        )}
      </header>
      <p role="status" aria-live="polite" class="said">
        {words}
      </p>
      <main>{token === "" ? <SignIn enter={enter} /> : <Desk ask={asking} say={setWords} />}</main>
    </>
  );
}

function Desk({ ask: asking, say }: { ask: Ask; say: Say }) {
  const [counts, setCounts] = useState<Counts>();
  const [pauses, setPauses] = useState<Pauses>();
  const [backlogs, setBacklogs] = useState<Backlogs>();
  const [filter, setFilter] = useState(noFilter);
  const [opened, setOpened] = useState<string>();
  const [changes, setChanges] = useState(0);
  const attempt = useCallback<Attempt>(
    (work) => {
      const perform = async () => {
        try {
          const done = await work();
          if (done !== undefined) say(done);
        } catch (error) {
          say(error instanceof Error ? error.message : "That did not work.");
        }
        setChanges((before) => before + 1);
      };
      void perform();
    },
    [say],
  );
  useEffect(() => {
    const load = () => {
      asking<Counts>("/counts?hours=24").then(setCounts, () => undefined);
      asking<Pauses>("/pauses").then(setPauses, () => undefined);
      asking<Backlogs>("/backlogs?limit=20").then(setBacklogs, () => undefined);
    };
    load();
    const timer = setInterval(load, refreshMs);
    return () => clearInterval(timer);
  }, [asking, changes]);
  return (
    <>
      <Chart counts={counts} />
      <Waiting
        backlogs={backlogs}
        show={(agent_id) => setFilter({ ...noFilter, state: "WAITING", agent_id })}
      />
      <PauseList pauses={pauses} ask={asking} attempt={attempt} />
      <Calls
        filter={filter}
        setFilter={setFilter}
        standing={counts}
        ask={asking}
        attempt={attempt}
        changes={changes}
        opened={opened}
        open={setOpened}
      />
      {opened === undefined ? null : (
        <OneCall
          key={opened}
          id={opened}
          ask={asking}
          attempt={attempt}
          changes={changes}
          open={setOpened}
        />
      )}
      <DoNotCall ask={asking} attempt={attempt} />
    </>
  );
}

render(<Page />, document.body);
