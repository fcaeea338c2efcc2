import { expect, test } from "bun:test";
import { STATUS_CODES } from "node:http";
import { catalogue, type ErrorKind, statusOf } from "./error-catalogue.ts";
import { formatHead, noHeaders, type ResponseHead, reasonPhrases } from "./response-head.ts";

const plain: ResponseHead = {
  status: 200,
  contentType: "application/json",
  requestId: "id-1",
  headers: noHeaders,
  corsLines: "",
  isLast: false,
  date: "Thu, 01 Jan 2026 00:00:00 GMT",
  framing: "Content-Length: 2",
};

test("every status has its reason phrase, those of the errors among them", () => {
  const phrases = Object.keys(reasonPhrases).map((status) => [status, STATUS_CODES[status]]);
  // As RFC 9110 renamed it.
  const known = { ...Object.fromEntries(phrases), 413: "Content Too Large" };
  expect(reasonPhrases).toEqual(known);
  const statuses = (Object.keys(catalogue) as ErrorKind[]).map(statusOf);
  expect(statuses.filter((status) => reasonPhrases[status] === undefined)).toEqual([]);
});

test("a head has the headers that every response carries", () => {
  expect(formatHead(plain)).toBe(
    [
      "HTTP/1.1 200 OK",
      "Content-Type: application/json",
      "Cache-Control: no-store",
      "X-Content-Type-Options: nosniff",
      "X-Request-Id: id-1",
      "Date: Thu, 01 Jan 2026 00:00:00 GMT",
      "Content-Length: 2",
      "",
      "",
    ].join("\r\n"),
  );
});

test("a head has its own Cache-Control, says that it is the last, and has no framing if there is none", () => {
  const head = formatHead({
    ...plain,
    headers: { "Cache-Control": "public" },
    isLast: true,
    framing: undefined,
  });
  expect(head.match(/Cache-Control: .*/g)).toEqual(["Cache-Control: public"]);
  expect(head).toContain("\r\nConnection: close\r\n");
  expect(head).toEndWith("GMT\r\n\r\n");
});
