/** The address cannot be listened on, in one sentence for the operator. */
export class ListenProblem extends Error {
  override readonly name = "ListenProblem";
}

/** `remedy` is what the operator can do where another process listens there. */
export function listenProblem(error: unknown, host: string, port: number, remedy: string): ListenProblem {
  const { code, message } = error as NodeJS.ErrnoException;
  return new ListenProblem(
    code === "EADDRINUSE"
      ? `${host}:${port} is in use by another process; ${remedy}.`
      : `${host}:${port} cannot be listened on: ${message}.`,
  );
}

/** Where clients reach the service, without a slash at the end: a host that means "all" is named by one that leads there. */
export function publicUrl(baseUrl: URL | undefined, host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const authority = reachable.includes(":") ? `[${reachable}]` : reachable;
  return (baseUrl?.href ?? `http://${authority}:${port}`).replace(/\/+$/, "");
}
