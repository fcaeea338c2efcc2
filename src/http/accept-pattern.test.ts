import { expect, test } from "bun:test";
import { acceptPattern } from "./accept-pattern.ts";

const acceptsGzip = acceptPattern("gzip");

test.each(["gzip", "br, GZIP", "gzip;q=1", "gzip; q=0.5, br", "br , gzip ,x"])(
  "%p accepts gzip",
  (header) => {
    expect(acceptsGzip.test(header)).toBe(true);
  },
);

test.each(["", "br", "x-gzip", "gzipped", "gzip;q=0", "gzip; q=0.00, br"])("%p does not", (header) => {
  expect(acceptsGzip.test(header)).toBe(false);
});
