import { options, render } from "preact";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { Accounts } from "./accounts.tsx";
import { addressOf, type Place, usePlace, type View, views } from "./address.ts";
import { Audit } from "./audit.tsx";
import { Calls } from "./calls.tsx";
import { type Ask, DeskContext, Roles, useTools } from "./desk.tsx";
import { Campaigns } from "./campaigns.tsx";
import { DoNotCall } from "./do-not-call.tsx";
import { Forecast } from "./forecast.tsx";
import { type Message, Said, useMessage } from "./messages.tsx";
import { NeedCount, NeedsReader, useNeedCount } from "./needs.tsx";
import { Overview } from "./overview.tsx";
import { announceSignOut, PendingDecision } from "./pending.tsx";
import { Requests } from "./requests.tsx";
import { Review } from "./review.tsx";
import { useSession } from "./session.ts";
import { showControls } from "./shown-children.ts";
import { SignIn, SignInAgain } from "./sign-in.tsx";
import { Send } from "./send.tsx";
import { Undoing } from "./undo.tsx";
import { SearchBox } from "./search-box.tsx";

const viewNames = Object.keys(views).filter((name): name is View => name in views);

function Page() {
  const place = usePlace();
  const { message, show, close } = useMessage(place.view);
  const session = useSession(useCallback((words) => show({ words }), [show]));
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to content
      </a>
      <header>
        <h1>Outbound Calls</h1>
        {session.isOpen ? (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              announceSignOut();
              session.leave();
            }}
          >
            Sign out
          </button>
        ) : null}
      </header>
      <Said message={message} view={place.view} close={close} />
      {session.isOpen ? (
        <Desk ask={session.ask} place={place} show={show} />
      ) : (
        <main id="main">
          <SignIn
            enter={(token) => {
              close();
              session.enter(token);
            }}
          />
        </main>
      )}
      {session.refused === undefined ? null : (
        <SignInAgain refused={session.refused} enter={session.enter} leave={session.leave} />
      )}
    </>
  );
}

/** Moves the focus to the content without changing the URL, which names the view. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("h2")?.focus();
}

function Desk({ ask, place, show }: { ask: Ask; place: Place; show(message: Message): void }) {
  return (
    <DeskContext.Provider value={useTools(ask, { view: place.view, show })}>
      <SearchBox />
      <NeedsReader>
        <Navigation place={place} />
        <Roles>
          <Undoing>
            <PendingDecision>
              <main id="main">
                <Heading place={place} />
                <Shows place={place} />
              </main>
            </PendingDecision>
          </Undoing>
        </Roles>
      </NeedsReader>
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
              <NeedCount view={name} />
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
  const needs = useNeedCount("overview");
  useEffect(() => {
    const count = needs === 0 ? "" : `(${needs}) `;
    document.title = `${count}${views[place.view]} · Outbound Calls: operator`;
  }, [place.view, needs]);
  useEffect(() => {
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
    case "campaigns":
      return <Campaigns place={place} />;
    case "review":
      return <Review />;
    case "calls":
      return <Calls place={place} />;
    case "accounts":
      return <Accounts />;
    case "forecast":
      return <Forecast />;
    case "send":
      return <Send />;
    case "do-not-call":
      return <DoNotCall />;
    case "audit":
      return <Audit />;
  }
}

showControls(options);
render(<Page />, document.body);
