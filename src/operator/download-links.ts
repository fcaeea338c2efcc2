import { HttpError } from "../http/http-error.ts";

/** What a link leads to, and whether the caller who asked for it still may. */
interface Linked {
  readonly isAllowed: () => boolean;
}

const linkMsMax = 60_000;

/** A browser sends no token with a download, so it gets a link that needs none, for one download within a minute. */
export class DownloadLinks<Target extends Linked> {
  readonly #max: number;
  readonly #what: string;
  readonly #links = new Map<string, { readonly target: Target; readonly expiresMs: number }>();

  /** Links that nobody follows expire; `max` bounds what a runaway script can pile up meanwhile. */
  constructor(max: number, what: string) {
    this.#max = max;
    this.#what = what;
  }

  /** Returns the secret of the link. */
  create(target: Target): string {
    const nowMs = performance.now();
    for (const [secret, { expiresMs }] of this.#links) if (expiresMs < nowMs) this.#links.delete(secret);
    if (this.#links.size >= this.#max)
      throw new HttpError("too-busy", `Too many ${this.#what} were requested. Try again in a minute.`);
    const secret = crypto.randomUUID();
    this.#links.set(secret, { target, expiresMs: nowMs + linkMsMax });
    return secret;
  }

  /** Undefined where it was used, has expired, or its caller may no longer. */
  use(secret: string): Target | undefined {
    const link = this.#links.get(secret);
    this.#links.delete(secret);
    if (link === undefined || link.expiresMs < performance.now()) return undefined;
    return link.target.isAllowed() ? link.target : undefined;
  }
}
