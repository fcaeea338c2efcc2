const clientRequestId = /^[\x21-\x7e]{1,64}$/;

/** The client's own request id where it is short and printable, else a new one. */
export function requestIdOf(request: Request): string {
  const sent = request.headers.get("x-request-id");
  return sent !== null && clientRequestId.test(sent) ? sent : crypto.randomUUID();
}

/** The path without query. Not through URL: an HTTP/1.0 request without Host has only the path here. */
export function pathOf(request: Request): string {
  const { url } = request;
  const start = url.startsWith("/") ? 0 : url.indexOf("/", "https://".length);
  if (start < 0) return url;
  const end = url.indexOf("?", start);
  return url.slice(start, end < 0 ? undefined : end);
}
