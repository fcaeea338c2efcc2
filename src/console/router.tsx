import { type AnchorHTMLAttributes, createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { useWindowEvent } from "./parts/hooks.ts";

export interface Router {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The number of navigations since the console was opened. */
  readonly navigations: number;
  /** `replace` adds no entry to the history, such as for each letter typed into a search. */
  navigate(to: string, options?: { readonly replace?: boolean }): void;
}

export const RouterContext = createContext({} as Router);

export function useRouter(): Router {
  return useContext(RouterContext);
}

/** The router of the address bar. */
export function useBrowserLocation(): Router {
  const [route, setRoute] = useState(() => ({ ...currentRoute(), navigations: 0 }));
  const onNavigate = (): void =>
    setRoute(({ navigations }) => ({ ...currentRoute(), navigations: navigations + 1 }));
  useWindowEvent("popstate", onNavigate);
  const navigate: Router["navigate"] = (to, options) => {
    if (options?.replace) history.replaceState(null, "", to);
    else history.pushState(null, "", to);
    onNavigate();
  };
  return { ...route, navigate };
}

function currentRoute() {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

/** A link within the console, which does not reload the page. */
export function Link({ href, children, ...rest }: AnchorHTMLAttributes & { readonly href: string }) {
  const { navigate } = useRouter();
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        // A clickable row has the same link.
        event.stopPropagation();
        navigate(href);
      }}
    >
      {children}
    </a>
  );
}
