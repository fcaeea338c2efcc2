import type { Caller, Scope } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import { Refusal } from "../http/refusal.ts";
import { json, type Reply } from "../http/reply.ts";
import { minuteMs } from "../text/duration.ts";

/** Records the download, and returns the reply that has the file. */
export type Download = (exchange: Exchange, caller: Caller) => Promise<Reply>;

interface Link {
  readonly download: Download;
  /** The name of the caller that made it. */
  readonly owner: string;
  /** With what it was made: whoever follows it may do what these still allow. */
  readonly authorization: string | undefined;
  readonly scope: Scope;
  readonly expiresMs: number;
}

export const downloadPath = "/api/downloads/{secret}";
const linkMsMax = minuteMs;
// A runaway script cannot fill the memory with links, nor keep other callers from theirs. More would be of no use: a caller may
// start 60 downloads per minute, as many as the audit trail records.
const linksPerCallerMax = 100;

/** A browser sends no token with a download, so it gets a link that needs none, for one download within a minute. */
export class DownloadLinks {
  /** By their secrets. */
  readonly #links = new Map<string, Link>();

  /** @throws Refusal the caller already has too many that it has not used. */
  create(exchange: Exchange, { name: owner }: Caller, scope: Scope, download: Download) {
    const nowMs = performance.now();
    let ofCaller = 0;
    for (const [secret, link] of this.#links) {
      if (link.expiresMs < nowMs) this.#links.delete(secret);
      else if (link.owner === owner) ofCaller++;
    }
    if (ofCaller >= linksPerCallerMax)
      throw new Refusal(
        "too-busy",
        `This token already has ${ofCaller} download links that it has not used. Try again in a minute.`,
      );
    const secret = crypto.randomUUID();
    const authorization = exchange.header("authorization");
    this.#links.set(secret, { download, owner, authorization, scope, expiresMs: nowMs + linkMsMax });
    return json({ url: downloadPath.replace("{secret}", secret) }, 201);
  }

  /** @throws Refusal the link in the path was used, has expired, or its caller is no longer allowed. */
  async follow(exchange: Exchange): Promise<Reply> {
    // A HEAD request would use up the link, and there is nothing to say before the content.
    if (exchange.method === "HEAD")
      throw new Refusal("no-such-method", "A download link supports only GET.", { Allow: "GET" });
    const secret = exchange.parameter;
    const link = this.#links.get(secret);
    if (link === undefined || link.expiresMs < performance.now()) throw linkGone();
    const caller = await exchange.admit(link.scope, link.authorization);
    if (caller instanceof Refusal) throw linkGone();
    const reply = await link.download(exchange, caller);
    // A link works once, so no request that is refused uses it up. Another request may have used it meanwhile.
    if (!this.#links.delete(secret)) throw linkGone();
    return reply;
  }
}

function linkGone(): Refusal {
  const message = "This link was already used, or is more than a minute old. Request the download again.";
  return new Refusal("no-such-path", message);
}
