import { HttpError } from "../http/http-error.ts";

/** What a link leads to, and whether the caller who asked for it is still allowed. */
interface Linked {
  readonly isAllowed: () => boolean;
}

const linkMsMax = 60_000;

/**
 * A browser sends no token with a download, so it gets a link that needs none, for one download within a minute. Unused
 * links expire; `max` bounds what a runaway script can pile up until then.
 */
export function downloadLinks<Target extends Linked>(max: number, what: string) {
  const links = new Map<string, { readonly target: Target; readonly expiresMs: number }>();
  return {
    /** Returns the secret of the link. */
    create(target: Target): string {
      const nowMs = performance.now();
      for (const [secret, { expiresMs }] of links) if (expiresMs < nowMs) links.delete(secret);
      if (links.size >= max)
        throw new HttpError("too-busy", `Too many ${what} were requested. Try again in a minute.`);
      const secret = crypto.randomUUID();
      links.set(secret, { target, expiresMs: nowMs + linkMsMax });
      return secret;
    },
    /** Undefined if it was used, has expired, or its caller is no longer allowed. */
    use(secret: string): Target | undefined {
      const link = links.get(secret);
      links.delete(secret);
      if (link === undefined || link.expiresMs < performance.now()) return undefined;
      return link.target.isAllowed() ? link.target : undefined;
    },
  };
}
