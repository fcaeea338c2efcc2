import { expect, test } from "bun:test";
import { isJsonMediaType } from "./json-media-type.ts";

test.each([
  "application/json",
  " Application/JSON ",
  "application/json;",
  "application/json; charset=utf-8",
  'application/json ; CHARSET="UTF8"',
  'application/json; profile="a;b\\"c"; charset=utf-8',
])("%p is JSON in UTF-8", (contentType) => {
  expect(isJsonMediaType(contentType)).toBe(true);
});

test.each([
  undefined,
  "",
  "text/plain",
  "application/jsonp",
  "application/json, text/plain",
  "application/json; charset=latin1",
  'application/json; charset="utf-16"',
  "application/json; charset=utf-8; charset=latin1",
])("%p is not JSON in UTF-8", (contentType) => {
  expect(isJsonMediaType(contentType)).toBe(false);
});

test("a Content-Type of over 256 characters is refused", () => {
  expect(isJsonMediaType(`application/json; a=${"x".repeat(237)}`)).toBe(false);
});
