import { expect, test } from "bun:test";
import { acceptPattern } from "./accept-pattern.ts";

const acceptsGzip = acceptPattern("gzip");

test("gzip is accepted where a list names it, without a weight of 0", () => {
  const accepted = ["gzip", "br, GZIP", "gzip;q=1", "gzip; q=0.5, br", "br , gzip ,x", "gzip;a=b;q=0.5"];
  accepted.push("gzip;a=b, br;q=0");
  const others = ["", "br", "x-gzip", "gzipped", "gzip;q=0", "gzip; q=0.00, br", "gzip;a=b;q=0"];
  others.push("gzip; a=b ; Q=0.0 , br", "gzip;q=0;a=b");
  expect([...accepted, ...others].filter((header) => acceptsGzip.test(header))).toEqual(accepted);
});

test.each([
  ["names", "gzip "],
  ["parameters", "gzip;q=0.1"],
  ["list members", "gzip;q=0x,"],
  ["weights of 0", "gzip;q=0.0"],
  ["spaces", " "],
  ["semicolons", ";"],
])("a header of a megabyte of %s is read in linear time", (_, part) => {
  const header = `gzip;${part.repeat(1_000_000 / part.length)}x`;
  const startedMs = performance.now();
  acceptsGzip.test(header);
  expect(performance.now() - startedMs).toBeLessThan(1000);
});
