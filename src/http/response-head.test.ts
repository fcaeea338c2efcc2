import { expect, test } from "bun:test";
import { STATUS_CODES } from "node:http";
import { catalogue, type ErrorKind, statusOf } from "./error-catalogue.ts";
import { formatHead, noHeaders, reasonPhrases } from "./response-head.ts";

const plain = { status: 200, contentType: "application/json", headers: noHeaders };
const request = { requestId: "id-1", corsLines: "", isLast: false };
const date = "Thu, 01 Jan 2026 00:00:00 GMT";

test("every status has its reason phrase, those of the errors among them", () => {
  const phrases = Object.keys(reasonPhrases).map((status) => [status, STATUS_CODES[status]]);
  // As RFC 9110 renamed it.
  const known = { ...Object.fromEntries(phrases), 413: "Content Too Large" };
  expect(reasonPhrases).toEqual(known);
  const statuses = (Object.keys(catalogue) as ErrorKind[]).map(statusOf);
  expect(statuses.filter((status) => reasonPhrases[status] === undefined)).toEqual([]);
});

test("a head has the headers that every response carries", () => {
  expect(formatHead(plain, request, date, "Content-Length: 2")).toBe(
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
  const headers = { "Cache-Control": "public" };
  const head = formatHead({ ...plain, headers }, { ...request, isLast: true }, date, undefined);
  expect(head.match(/Cache-Control: .*/g)).toEqual(["Cache-Control: public"]);
  expect(head).toContain("\r\nConnection: close\r\n");
  expect(head).toEndWith("GMT\r\n\r\n");
});
