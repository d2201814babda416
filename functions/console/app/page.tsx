import { type ComponentChildren, options, render } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { addressOf, type Place, usePlace, type View, views } from "../data/address.ts";
import { DeskContext, Roles, useTools } from "../parts/desk.tsx";
import { useViews, type Views } from "./load-views.ts";
import { Skeleton } from "../parts/shared.tsx";
import { type Message, Said, useMessage } from "../parts/messages.tsx";
import { NeedCount, NeedsReader, useNeedCount } from "../parts/needs.tsx";
import { Overview } from "../overview/overview.tsx";
import { announceSignOut, PendingDecision } from "../parts/pending.tsx";
import { type Session, useSession } from "../data/session.ts";
import { showControls } from "./shown-children.ts";
import { SignIn, SignInAgain } from "./sign-in.tsx";
import { Undoing } from "../parts/undo.tsx";
import { SearchBox } from "./search-box.tsx";

const viewNames = Object.keys(views).filter((name): name is View => name in views);

function Page() {
  const place = usePlace();
  const { message, show, close } = useMessage(place.view);
  const session = useSession(useCallback((texts) => show({ texts }), [show]));
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to content
      </a>
      {session.isOpen ? (
        <Desk
          session={session}
          place={place}
          show={show}
          said={<Said message={message} view={place.view} close={close} />}
        />
      ) : (
        <>
          <header>
            <h1>Outbound Calls</h1>
          </header>
          <Said message={message} view={place.view} close={close} />
          <main id="main">
            <SignIn
              enter={(token) => {
                close();
                session.enter(token);
              }}
            />
          </main>
        </>
      )}
      {session.refused === undefined ? null : (
        <SignInAgain refused={session.refused} enter={session.enter} leave={session.leave} />
      )}
    </>
  );
}

/** Name under which the browser keeps that its operator wants to see codes. */
const codesKey = "outbound-calls-codes";

/** A button that shows the codes of reasons beside their sentences. */
function CodesButton() {
  const [isOn, setIsOn] = useState(() => localStorage.getItem(codesKey) === "on");
  useEffect(() => {
    document.documentElement.classList.toggle("codes", isOn);
    if (isOn) localStorage.setItem(codesKey, "on");
    else localStorage.removeItem(codesKey);
  }, [isOn]);
  return (
    <button type="button" class="quiet" aria-pressed={isOn} onClick={() => setIsOn(!isOn)}>
      {isOn ? "Hide codes" : "Show codes"}
    </button>
  );
}

/** Moves the focus to the content without changing the URL, which names the view. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("h2")?.focus();
}

interface DeskProps {
  session: Session;
  place: Place;
  show(message: Message): void;
  said: ComponentChildren;
}

function Desk({ session, place, show, said }: DeskProps) {
  return (
    <DeskContext.Provider value={useTools(session, { view: place.view, show })}>
      <NeedsReader>
        <header>
          <h1>Outbound Calls</h1>
          <SearchBox />
          <span class="line">
            <CodesButton />
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
          </span>
        </header>
        <Navigation place={place} />
        {said}
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
  const tabs = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // On a phone the tabs are scrolled, and the current one may be out of sight.
    const current = tabs.current?.querySelector<HTMLElement>("[aria-current]");
    if (current != null) tabs.current?.scrollTo({ left: current.offsetLeft - 16 });
  }, [place.view]);
  return (
    <nav aria-label="Views">
      <ul class="tabs" ref={tabs}>
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
    <h2 class="unseen" tabIndex={-1} ref={heading}>
      {views[place.view]}
    </h2>
  );
}

function Shows({ place }: { place: Place }) {
  const { views: loaded, isFailed } = useViews(place.view !== "overview");
  if (place.view === "overview") return <Overview />;
  if (isFailed) {
    return (
      <p class="problem">
        The view could not be loaded.{" "}
        <button type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </p>
    );
  }
  return loaded === undefined ? <Skeleton /> : <Loaded views={loaded} place={place} />;
}

function Loaded({ views: loaded, place }: { views: Views; place: Place }) {
  switch (place.view) {
    case "overview":
      return null;
    case "requests":
      return <loaded.Requests place={place} />;
    case "campaigns":
      return <loaded.Campaigns place={place} />;
    case "review":
      return <loaded.Review />;
    case "calls":
      return <loaded.Calls place={place} />;
    case "accounts":
      return <loaded.Accounts />;
    case "forecast":
      return <loaded.Forecast />;
    case "send":
      return <loaded.Send />;
    case "do-not-call":
      return <loaded.DoNotCall />;
    case "clients":
      return <loaded.Clients />;
    case "incidents":
      return <loaded.Incidents />;
    case "audit":
      return <loaded.Audit />;
  }
}

showControls(options);
render(<Page />, document.body);
