import { expect, test } from "bun:test";
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

test.each(Object.keys(catalogue) as ErrorKind[])("the status of %s has a reason phrase", (kind) => {
  expect(reasonPhrases[statusOf(kind)]).toBeString();
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

test("a Cache-Control of its own replaces the one of every response", () => {
  const head = formatHead({ ...plain, headers: { "Cache-Control": "public" } });
  expect(head.match(/Cache-Control: .*/g)).toEqual(["Cache-Control: public"]);
});

test("the last response on a connection says so", () => {
  expect(formatHead({ ...plain, isLast: true })).toContain("\r\nConnection: close\r\n");
});

test("a response that ends with its connection has no framing", () => {
  expect(formatHead({ ...plain, framing: undefined })).toEndWith("GMT\r\n\r\n");
});
