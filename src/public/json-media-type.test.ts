import { expect, test } from "bun:test";
import { isJsonMediaType } from "./json-media-type.ts";

test("a Content-Type is JSON in UTF-8 in any case, with any parameters but another charset", () => {
  const json = [
    "application/json",
    " Application/JSON ",
    "application/json;",
    "application/json; charset=utf-8",
    'application/json ; CHARSET="UTF8"',
    'application/json; profile="a;b\\"c"; charset=utf-8',
  ];
  const others = [
    "application/json; charset=latin1",
    'application/json; charset="utf-16"',
    "application/json; charset=utf-8; charset=latin1",
  ];
  others.push("", "text/plain", "application/jsonp", "application/json, text/plain");
  expect([undefined, ...json, ...others].filter(isJsonMediaType)).toEqual(json);
});

test("a Content-Type of over 256 characters is refused", () => {
  expect(isJsonMediaType(`application/json; a=${"x".repeat(237)}`)).toBe(false);
});
