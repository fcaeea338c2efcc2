import { expect, test } from "bun:test";
import { RequestAborted } from "../client/plant-store-client.ts";
import type { InputRow } from "../files/input-row.ts";
import { Problem } from "../system/problem.ts";
import { type CreateRow, createNone, createRows, type RowOutcome } from "./import-rows.ts";

const never = new AbortController().signal;

async function* rows(count: number): AsyncGenerator<InputRow> {
  for (let line = 1; line <= count; line++) yield { line } as InputRow;
  throw new Problem("broken");
}

/** Creates rows, the last of every 64 first: it needs 64 rows at a time, and accepts no more. */
function createBackwards(): CreateRow {
  const finish: (() => void)[] = [];
  return (row) => {
    const { promise, resolve } = Promise.withResolvers<RowOutcome>();
    finish.push(() => resolve({ row, kind: "created" }));
    if (finish.length === 64 || row.line === 100) for (const settle of finish.splice(0).reverse()) settle();
    expect(finish.length).toBeLessThan(64);
    return promise;
  };
}

test("outcomes come in the order of the file, before the reason why it cannot be read on", async () => {
  const lines: number[] = [];
  const run = async () => {
    for await (const { row } of createRows(rows(100), createBackwards(), never)) lines.push(row.line);
  };
  await expect(run()).rejects.toThrow(Problem);
  expect(lines).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
});

test("a row that a stop has ended is not created: it may be truncated", async () => {
  const stopping = new AbortController();
  async function* truncated(): AsyncGenerator<InputRow> {
    stopping.abort("SIGINT");
    yield { line: 1 } as InputRow;
  }
  let created = 0;
  const create: CreateRow = async (row) => {
    created++;
    return { row, kind: "created" };
  };
  await expect(Array.fromAsync(createRows(truncated(), create, stopping.signal))).rejects.toThrow(
    RequestAborted,
  );
  expect(created).toBe(0);
});

test("a dry run lets timers run, which draw its progress", async () => {
  let hasFired = false;
  setTimeout(() => {
    hasFired = true;
  }, 0);
  async function* rowsUntilFired(): AsyncGenerator<InputRow> {
    const problem = { message: "wrong", reason: "wrong" };
    for (let line = 1; line <= 100_000 && !hasFired; line++) yield { line, problem } as InputRow;
  }
  for await (const _ of createRows(rowsUntilFired(), createNone(), never));
  expect(hasFired).toBe(true);
});
