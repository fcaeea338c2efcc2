import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { OperatorApi } from "./api.ts";
import type { Me } from "./api-shapes.ts";
import { Feed } from "./feed.ts";
import { Frame } from "./frame.tsx";
import { ImportPage } from "./import/import-page.tsx";
import type { ImportRun } from "./import/import-run.ts";
import { OverviewPage } from "./overview/overview-page.tsx";
import { Link } from "./parts/link.tsx";
import { Empty } from "./parts/notice.tsx";
import { AddPlant } from "./plants/add-plant.tsx";
import { PlantsPage } from "./plants/plants-page.tsx";
import { RouterContext, useAddress, useRouter } from "./router.ts";
import { type Surroundings, SurroundingsContext } from "./session.ts";
import { SignIn } from "./sign-in.tsx";
import { TokensPage } from "./tokens/tokens-page.tsx";

// Gone when the tab closes, and never sent anywhere but in the Authorization header.
const tokenKey = "plant-store-token";

export function App() {
  const router = useAddress();
  const [me, setMe] = useState<Me>();
  const [token, setToken] = useState(() => sessionStorage.getItem(tokenKey) ?? undefined);
  const [parting, setParting] = useState<string>();

  const leave = useCallback((words?: string) => {
    sessionStorage.removeItem(tokenKey);
    setToken(undefined);
    setMe(undefined);
    setParting(words);
  }, []);
  const enter = useCallback((token: string, me: Me) => {
    sessionStorage.setItem(tokenKey, token);
    setToken(token);
    setMe(me);
    setParting(undefined);
  }, []);

  return (
    <RouterContext.Provider value={router}>
      {token !== undefined && me !== undefined ? (
        <Session key={token} token={token} me={me} onLeave={leave} />
      ) : (
        <SignIn kept={token} words={parting} onEnter={enter} onForget={leave} />
      )}
    </RouterContext.Provider>
  );
}

interface SessionProps {
  readonly token: string;
  readonly me: Me;
  readonly onLeave: (words?: string) => void;
}

function Session({ token, me, onLeave }: SessionProps) {
  const [adding, setAdding] = useState(false);
  const [sentence, setSentence] = useState("");
  const { api, feed } = useMemo(() => {
    const api = new OperatorApi(token, () =>
      onLeave("This token is not valid any more: it has expired or was revoked. Sign in with another one."),
    );
    return { api, feed: new Feed(api) };
  }, [token, onLeave]);
  const importHolder = useRef<ImportRun>(undefined);
  useEffect(() => feed.open(), [feed]);
  useEffect(() => {
    // The browser asks before it closes a tab in the middle of an import.
    const warn = (event: Event): void => {
      if (importHolder.current?.state === "running") event.preventDefault();
    };
    addEventListener("beforeunload", warn);
    return () => {
      removeEventListener("beforeunload", warn);
      importHolder.current?.stop();
    };
  }, []);
  const surroundings: Surroundings = useMemo(
    () => ({ api, feed, me, importHolder, addPlant: () => setAdding(true), say: setSentence }),
    [api, feed, me, importHolder],
  );
  return (
    <SurroundingsContext.Provider value={surroundings}>
      <Frame onLeave={() => onLeave()}>
        <Page />
      </Frame>
      <div class="unseen" role="status" aria-live="polite">
        {sentence}
      </div>
      {adding && <AddPlant onClose={() => setAdding(false)} />}
    </SurroundingsContext.Provider>
  );
}

function Page() {
  const { path } = useRouter();
  if (path === "/") return <OverviewPage />;
  if (path === "/plants" || path.startsWith("/plants/")) return <PlantsPage />;
  if (path === "/import") return <ImportPage />;
  if (path === "/tokens") return <TokensPage />;
  return (
    <Empty title="There is no such page">
      <p>
        <Link href="/">Go to the overview</Link>
      </p>
    </Empty>
  );
}
