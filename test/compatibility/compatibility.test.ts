// docs/compatibility.md is a promise: what 1.0.0 had, this version has. New names may be added.
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import recorded from "../fixtures/1.0.0/surface.json" with { type: "json" };
import { recordSurface, type Surface } from "./surface.ts";

let present: Surface;
beforeAll(async () => {
  present = await recordSurface(join(import.meta.dir, "../.."));
});

test("keeps the error numbers of 1.0.0", () => {
  expect(missing(recorded.errors, present.errors)).toEqual([]);
});

test("keeps the variables of 1.0.0", () => {
  expect(missing(recorded.variables, present.variables)).toEqual([]);
});

test("keeps the defaults of 1.0.0", () => {
  expect(present.defaults).toMatchObject(recorded.defaults);
});

test("keeps the log fields of 1.0.0", () => {
  expect(missing(recorded.logFields, present.logFields)).toEqual([]);
});

describe("keeps the flags of 1.0.0", () => {
  test.each(Object.entries(recorded.flags))("of %s", (command, flags) => {
    expect(missing(flags, present.flags[command])).toEqual([]);
  });
});

describe("keeps the exit codes of 1.0.0", () => {
  test.each(Object.entries(recorded.exitCodes))("of %s", (command, exitCode) => {
    expect(present.exitCodes[command]).toBe(exitCode);
  });
});

describe("keeps what --json printed in 1.0.0", () => {
  test.each(Object.entries(recorded.jsonFields))("for %s", (command, fields) => {
    expect(missing(fields, present.jsonFields[command])).toEqual([]);
  });
});

describe("keeps the responses of 1.0.0", () => {
  test.each(Object.entries(recorded.responses))("to %s", (request, { status, headers, fields }) => {
    const response = present.responses[request];
    expect(response?.status).toBe(status);
    expect(missing(headers, response?.headers)).toEqual([]);
    expect(missing(fields, response?.fields)).toEqual([]);
  });
});

describe("keeps the metrics of 1.0.0", () => {
  test.each(Object.entries(recorded.metrics))("such as %s", (metric, labels) => {
    expect(present.metrics).toHaveProperty([metric]);
    expect(missing(labels, present.metrics[metric])).toEqual([]);
  });
});

function missing(names: readonly string[], among: readonly string[] = []): string[] {
  return names.filter((name) => !among.includes(name));
}
