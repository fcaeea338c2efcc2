// docs/compatibility.md is a promise: what a released version had, this one has. New names may be added.
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { commands } from "../../src/cli/run.ts";
import of100 from "../fixtures/1.0.0/surface.json" with { type: "json" };
import of110 from "../fixtures/1.1.0/surface.json" with { type: "json" };
import of120 from "../fixtures/1.2.0/surface.json" with { type: "json" };
import type { Finished } from "../support/command.ts";
import { runInProcess } from "../support/terminal.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";
import { commands as recordedCommands, recordSurface, type Surface } from "./surface.ts";

let present: Surface;
beforeAll(async () => {
  present = await recordSurface(join(import.meta.dir, "../.."), runHere);
});

/** Runs a command of this version in this process, one at a time: fifty processes would take five seconds of CPU time. */
async function runHere(args: readonly string[], folder: string): Promise<Finished> {
  const before = process.cwd();
  process.chdir(folder);
  try {
    return await runInProcess(args, { environment: accessTokenEnvironment });
  } finally {
    process.chdir(before);
  }
}

describe.each<[string, Surface]>([
  ["1.0.0", of100],
  ["1.1.0", of110],
  ["1.2.0", of120],
])("of %s, this version keeps", (_, recorded) => {
  test("the error numbers", () => {
    expect(missing(recorded.errors, present.errors)).toEqual([]);
  });

  test("the variables", () => {
    expect(missing(recorded.variables, present.variables)).toEqual([]);
  });

  test("the defaults", () => {
    expect(present.defaults).toMatchObject(recorded.defaults);
  });

  test("the log fields", () => {
    expect(missing(recorded.logFields, present.logFields)).toEqual([]);
  });

  test.each(Object.entries(recorded.flags))("the flags of %s", (command, flags) => {
    expect(missing(flags, present.flags[command])).toEqual([]);
  });

  test.each(Object.entries(recorded.exitCodes))("the exit code of %s", (command, exitCode) => {
    expect(present.exitCodes[command]).toBe(exitCode);
  });

  test.each(Object.entries(recorded.jsonFields))("what --json prints for %s", (command, fields) => {
    expect(missing(fields, present.jsonFields[command])).toEqual([]);
  });

  test.each(Object.entries(recorded.responses))(
    "the response to %s",
    (request, { status, headers, fields }) => {
      const response = present.responses[request];
      expect(response?.status).toBe(status);
      expect(missing(headers, response?.headers)).toEqual([]);
      expect(missing(fields, response?.fields)).toEqual([]);
    },
  );

  test.each(Object.entries(recorded.metrics))("the metric %s", (metric, labels) => {
    expect(present.metrics).toHaveProperty([metric]);
    expect(missing(labels, present.metrics[metric])).toEqual([]);
  });
});

test("what every command promises is recorded", () => {
  expect(recordedCommands.toSorted()).toEqual(Object.keys(commands).sort());
});

function missing(names: readonly string[], among: readonly string[] = []): string[] {
  return names.filter((name) => !among.includes(name));
}
