export type ResponseHeaders = Readonly<Record<string, string>>;

export const noHeaders: ResponseHeaders = {};

export const reasonPhrases: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  303: "See Other",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  417: "Expectation Failed",
  421: "Misdirected Request",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/** What is said of one response. */
export interface ResponseStart {
  readonly status: number;
  readonly contentType: string;
  /** The headers of this response alone. A Cache-Control replaces the one that all others have. */
  readonly headers: ResponseHeaders;
}

/** What is said of the request that it responds to. */
export interface AnsweredRequest {
  readonly requestId: string;
  /** The headers for a page of another origin, as whole lines; empty if there are none. */
  readonly corsLines: string;
  /** Whether the connection closes after this response. */
  readonly isLast: boolean;
}

/**
 * The lines of the head, with the empty one that ends them. No response leaves without the headers that all must carry. `framing`
 * is the header that says where the body ends; undefined if the end of the connection does.
 */
export function formatHead(
  { status, contentType, headers }: ResponseStart,
  { requestId, corsLines, isLast }: AnsweredRequest,
  date: string,
  framing: string | undefined,
): string {
  const cacheControl = headers["Cache-Control"] === undefined ? "Cache-Control: no-store\r\n" : "";
  const connection = isLast ? "Connection: close\r\n" : "";
  const framingLine = framing === undefined ? "" : `${framing}\r\n`;
  return (
    `HTTP/1.1 ${status} ${reasonPhrases[status]}\r\nContent-Type: ${contentType}\r\n${cacheControl}` +
    `X-Content-Type-Options: nosniff\r\nX-Request-Id: ${requestId}\r\n${headerLines(headers)}${corsLines}` +
    `${connection}Date: ${date}\r\n${framingLine}\r\n`
  );
}

function headerLines(headers: ResponseHeaders): string {
  if (headers === noHeaders) return "";
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return lines.join("");
}
