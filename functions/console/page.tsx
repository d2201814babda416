import { render } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Accounts } from "./accounts.tsx";
import { addressOf, type Place, usePlace, type View, views } from "./address.ts";
import { Audit } from "./audit.tsx";
import { Calls } from "./calls.tsx";
import { ask, AskError } from "./client.ts";
import { type Ask, type Attempt, DeskContext, messageOf, Roles, type Say } from "./desk.tsx";
import { DoNotCall } from "./do-not-call.tsx";
import { Forecast } from "./forecast.tsx";
import { Overview } from "./overview.tsx";
import { PendingDecision } from "./pending.tsx";
import { Requests } from "./requests.tsx";
import { Review } from "./review.tsx";
import { SignIn } from "./sign-in.tsx";

const tokenKey = "outbound-calls-operator";
const viewNames = Object.keys(views).filter((name): name is View => name in views);

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
        // A late answer to an earlier token must not sign out somebody who has entered another one since.
        const isOfThis = sessionStorage.getItem(tokenKey) === token;
        if (error instanceof AskError && error.status === 401 && isOfThis)
          leave("This is not an operator's token, or it is no longer valid.");
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
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to content
      </a>
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
      {token === "" ? (
        <main id="main">
          <SignIn enter={enter} />
        </main>
      ) : (
        <Desk ask={asking} say={setWords} />
      )}
    </>
  );
}

/** Moves the focus to the content without changing the URL, which names the view. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("h2")?.focus();
}

function Desk({ ask: asking, say }: { ask: Ask; say: Say }) {
  const place = usePlace();
  const [changes, setChanges] = useState(0);
  const attempt = useCallback<Attempt>(
    (work) => {
      const perform = async () => {
        try {
          const done = await work();
          if (done !== undefined) say(done);
        } catch (error) {
          say(messageOf(error));
        }
        setChanges((before) => before + 1);
      };
      void perform();
    },
    [say],
  );
  return (
    <DeskContext.Provider value={{ ask: asking, say, attempt, changes }}>
      <Navigation place={place} />
      <Roles>
        <PendingDecision>
          <main id="main">
            <Heading place={place} />
            <Shows place={place} />
          </main>
        </PendingDecision>
      </Roles>
    </DeskContext.Provider>
  );
}

function Navigation({ place }: { place: Place }) {
  return (
    <nav aria-label="Views">
      <ul class="tabs">
        {viewNames.map((name) => (
          <li key={name}>
            <a
              class="tab"
              href={addressOf(name)}
              aria-current={place.view === name ? "page" : undefined}
            >
              {views[name]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The name of the view. It takes the focus when the view changes, so that a screen reader announces it. */
function Heading({ place }: { place: Place }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(place.view);
  useEffect(() => {
    document.title = `${views[place.view]} · Outbound Calls: operator`;
    if (shown.current !== place.view) heading.current?.focus();
    shown.current = place.view;
  }, [place.view]);
  return (
    <h2 tabIndex={-1} ref={heading}>
      {views[place.view]}
    </h2>
  );
}

function Shows({ place }: { place: Place }) {
  switch (place.view) {
    case "overview":
      return <Overview />;
    case "requests":
      return <Requests place={place} />;
    case "review":
      return <Review />;
    case "calls":
      return <Calls place={place} />;
    case "accounts":
      return <Accounts />;
    case "forecast":
      return <Forecast />;
    case "do-not-call":
      return <DoNotCall />;
    case "audit":
      return <Audit />;
  }
}

render(<Page />, document.body);
