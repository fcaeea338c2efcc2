import type { Caller, Gate } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";

export interface Download<Target> {
  readonly target: Target;
  readonly caller: Caller;
  /** Whether the caller still is. */
  readonly isAllowed: () => boolean;
}

const linkMsMax = 60_000;

/** A download by someone whose token came with the request. */
export function downloadOf<Target>(
  gate: Gate,
  exchange: Exchange,
  caller: Caller,
  scope: Scope,
  target: Target,
): Download<Target> {
  return { target, caller, isAllowed: gate.watch(exchange.header("authorization"), scope) };
}

/**
 * A browser sends no token with a download, so it gets a link that needs none, for one download within a minute. Unused
 * links expire; `max` bounds what a runaway script can pile up until then.
 */
export class DownloadLinks<Target> {
  readonly #links = new Map<string, { readonly download: Download<Target>; readonly expiresMs: number }>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns the secret of the link. */
  create(download: Download<Target>): string {
    const nowMs = performance.now();
    for (const [secret, { expiresMs }] of this.#links) if (expiresMs < nowMs) this.#links.delete(secret);
    if (this.#links.size >= this.#max)
      throw new HttpError("too-busy", "Too many downloads were requested. Try again in a minute.");
    const secret = crypto.randomUUID();
    this.#links.set(secret, { download, expiresMs: nowMs + linkMsMax });
    return secret;
  }

  /** What the link in the path leads to. @throws HttpError it was used, has expired, or its caller is no longer allowed. */
  use(exchange: Exchange): Download<Target> {
    // It would use up the link, and there is nothing to say before the content.
    if (exchange.method === "HEAD")
      throw new HttpError("no-such-method", "A download link supports GET alone.", { Allow: "GET" });
    const link = this.#links.get(exchange.parameter);
    this.#links.delete(exchange.parameter);
    if (link === undefined || link.expiresMs < performance.now() || !link.download.isAllowed())
      throw new HttpError(
        "no-such-path",
        "This link has been used, or has expired after a minute. Request the download again.",
      );
    // For the log: this request has no token.
    exchange.caller = link.download.caller;
    return link.download;
  }
}
