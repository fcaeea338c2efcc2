/** The address cannot be listened on, in one sentence for the operator. */
export class ListenProblem extends Error {
  override readonly name = "ListenProblem";
}

/** Where clients reach the service, without a slash at the end: a host that means "all" is named by one that leads there. */
export function publicUrl(baseUrl: URL | undefined, host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const authority = reachable.includes(":") ? `[${reachable}]` : reachable;
  return (baseUrl?.href ?? `http://${authority}:${port}`).replace(/\/+$/, "");
}
