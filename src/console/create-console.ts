import { OperatorApi } from "./api.ts";
import { ServiceConnection } from "./connection.ts";
import { TabImport } from "./import/import-run.ts";
import { Observable } from "./observable.ts";
import { Session } from "./session.ts";
import { takeSignInResponse } from "./sign-in/identity-provider.ts";

/** What all of the console shares. Made once, by `createConsole`. */
export interface Console {
  /** Sends every request with the token of the session. */
  readonly api: OperatorApi;
  readonly connection: ServiceConnection;
  readonly imports: TabImport;
  readonly router: Router;
  readonly session: Session;
  /** Stops whatever runs by itself. */
  close(): void;
}

/** Makes what all of the console shares, in the order in which one needs the other. */
export function createConsole(): Console {
  // Before the router reads the address: it removes the provider's response from there.
  const session = new Session(takeSignInResponse());
  const router = new Router();
  const connection = new ServiceConnection();
  const api = new OperatorApi(
    () => session.token,
    (token) => session.endWith(token),
    (responded) => connection.report(responded),
  );
  const imports = new TabImport(api);
  session.subscribe(() => {
    if (session.caller === undefined) imports.forget();
  });
  return {
    api,
    connection,
    imports,
    router,
    session,
    close() {
      connection.close();
      imports.forget();
      router.close();
    },
  };
}

/** The address bar. */
export class Router extends Observable {
  path = location.pathname;
  query = new URLSearchParams(location.search);
  /** The number of navigations since the console was opened. */
  navigations = 0;

  constructor() {
    super();
    addEventListener("popstate", this.#read);
  }

  /** `replace` adds no entry to the history, such as for each letter typed into a search. */
  readonly navigate = (to: string, { replace = false } = {}): void => {
    if (replace) history.replaceState(null, "", to);
    else history.pushState(null, "", to);
    this.#read();
  };

  close(): void {
    removeEventListener("popstate", this.#read);
  }

  readonly #read = (): void => {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
    this.navigations++;
    this.notify();
  };
}
