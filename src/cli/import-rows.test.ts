import { expect, test } from "bun:test";
import { BrokenFile, type InputRow } from "../files/input-row.ts";
import { createRows, type RowOutcome } from "./import-rows.ts";

const never = new AbortController().signal;

async function* rows(count: number): AsyncGenerator<InputRow> {
  for (let line = 1; line <= count; line++) yield { line } as InputRow;
  throw new BrokenFile("broken");
}

test("outcomes come in the order of the file, those before a broken row included, from 64 rows at a time", async () => {
  const finish: (() => void)[] = [];
  const create = (row: InputRow) => {
    const { promise, resolve } = Promise.withResolvers<RowOutcome>();
    finish.push(() => resolve({ row, kind: "created" }));
    // The last response of a window comes first.
    if (finish.length === 64 || row.line === 100) for (const one of finish.splice(0).reverse()) one();
    expect(finish.length).toBeLessThan(64);
    return promise;
  };
  const outcomes = await Array.fromAsync(createRows(rows(100), create, never));
  const lines = outcomes.map((outcome) => (outcome.kind === "failed" ? outcome.kind : outcome.row.line));
  expect(lines).toEqual([...Array.from({ length: 100 }, (_, index) => index + 1), "failed"]);
});

test("after a stop, no row is created: it may be truncated", async () => {
  const create = () => Promise.reject(new Error("a row was created"));
  expect(await Array.fromAsync(createRows(rows(2), create, AbortSignal.abort("SIGINT")))).toEqual([]);
});
