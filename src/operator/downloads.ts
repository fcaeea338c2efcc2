import type { Caller, Gate } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { minuteMs } from "../text/duration.ts";

export interface Download<Target> {
  readonly target: Target;
  readonly caller: Caller;
  /** Whether the caller still may have it. */
  readonly isAllowed: () => boolean;
}

const linkMsMax = minuteMs;
// A runaway script cannot fill the memory with links, nor keep other callers from theirs. More would be of no use: a caller may
// start 60 downloads per minute, as many as the audit trail records.
const linksPerCallerMax = 100;

/**
 * Downloads for callers with this scope. A browser sends no token with a download, so it gets a link that needs none, for one
 * download within a minute.
 */
export class Downloads<Target> {
  readonly #gate: Gate;
  readonly #scope: Scope;
  readonly #links = new Map<string, { readonly download: Download<Target>; readonly expiresMs: number }>();

  constructor(gate: Gate, scope: Scope) {
    this.#gate = gate;
    this.#scope = scope;
  }

  /** A download by the token that came with the request. */
  createDownload(exchange: Exchange, caller: Caller, target: Target): Download<Target> {
    return { target, caller, isAllowed: this.#gate.watch(exchange.header("authorization"), this.#scope) };
  }

  /** Returns the secret of the link. @throws HttpError the caller already has too many that it has not used. */
  createLink(exchange: Exchange, caller: Caller, target: Target): string {
    const nowMs = performance.now();
    let ofCaller = 0;
    for (const [secret, { download, expiresMs }] of this.#links) {
      if (expiresMs < nowMs) this.#links.delete(secret);
      else if (download.caller.name === caller.name) ofCaller++;
    }
    if (ofCaller >= linksPerCallerMax)
      throw new HttpError(
        "too-busy",
        `This token already has ${ofCaller} download links that it has not used. Try again in a minute.`,
      );
    const secret = crypto.randomUUID();
    const download = this.createDownload(exchange, caller, target);
    this.#links.set(secret, { download, expiresMs: nowMs + linkMsMax });
    return secret;
  }

  /** The download of the link in the path. @throws HttpError it was used, has expired, or its caller is no longer allowed. */
  requireDownload(exchange: Exchange): Download<Target> {
    // A HEAD request would use up the link, and there is nothing to say before the content.
    if (exchange.method === "HEAD")
      throw new HttpError("no-such-method", "A download link supports only GET.", { Allow: "GET" });
    const link = this.#links.get(exchange.parameter);
    if (link === undefined || link.expiresMs < performance.now() || !link.download.isAllowed())
      throw new HttpError(
        "no-such-path",
        "This link was already used, or is more than a minute old. Request the download again.",
      );
    // This request has no token, but its link has been accepted.
    exchange.acceptCaller(link.download.caller, undefined);
    return link.download;
  }

  /** Finds the download of the link in the path, and uses up the link. @throws HttpError as `requireDownload` does. */
  claimDownload(exchange: Exchange): Download<Target> {
    const download = this.requireDownload(exchange);
    this.#links.delete(exchange.parameter);
    return download;
  }
}

/** Sends a file piece by piece, for as long as its caller reads and is allowed. */
export async function sendFile(
  exchange: Exchange,
  { isAllowed }: Download<unknown>,
  file: { readonly name: string; readonly contentType: string },
  pieces: AsyncIterable<string | Uint8Array>,
): Promise<void> {
  // A data file may have any name. In a header, only a quoted string of printable ASCII is safe.
  const name = file.name.replaceAll(/[^\x20-\x7e]|["\\]/g, "_");
  const headers = { "Content-Disposition": `attachment; filename="${name}"` };
  const stream = exchange.stream(file.contentType, headers, isAllowed);
  if (stream === undefined) return;
  for await (const piece of pieces) {
    await stream.write(piece);
    if (!stream.isOpen) return;
  }
  stream.end();
}
