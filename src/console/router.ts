import { Observable } from "./observable.ts";

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
