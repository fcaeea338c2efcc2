import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface Router extends Place {
  /** How often one has moved within this page; 0 right after it was opened. */
  readonly moves: number;
  /** Goes there; `replace` when the change is no place to come back to, such as a letter typed into a search. */
  go(to: string, how?: { readonly replace?: boolean }): void;
}

export const RouterContext = createContext<Router>({
  path: "/",
  query: new URLSearchParams(),
  moves: 0,
  go: () => {},
});

export function useRouter(): Router {
  return useContext(RouterContext);
}

/** Keeps the place in step with the address bar. */
export function useAddress(): Router {
  const [place, setPlace] = useState(() => ({ ...present(), moves: 0 }));
  const follow = (): void => setPlace(({ moves }) => ({ ...present(), moves: moves + 1 }));
  useEffect(() => {
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);
  const go: Router["go"] = (to, how) => {
    if (how?.replace) history.replaceState(null, "", to);
    else history.pushState(null, "", to);
    follow();
  };
  return { ...place, go };
}

function present(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

export function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}
