import { expect, test } from "bun:test";
import { setImmediate } from "node:timers/promises";
import { ServiceRefused } from "../client/plant-store-client.ts";
import { FormatError, type InputRow } from "../files/input-row.ts";
import { type RowOutcome, Tally } from "./import-report.ts";
import { importRows } from "./import-rows.ts";

const noStop = {
  requested: undefined,
  whenRequested: new Promise<void>(() => {}),
  abortSignal: new AbortController().signal,
};

/** An import of 20 rows, four at the same time. The test decides what becomes of each, and when. */
function startImport() {
  const sent: ((outcome: "created" | ServiceRefused) => Promise<void>)[] = [];
  async function* rows(): AsyncGenerator<InputRow> {
    for (let line = 1; line <= 20; line++) yield { line, json: new Uint8Array() } as InputRow;
  }
  const create = (row: InputRow) => {
    const { promise, resolve } = Promise.withResolvers<RowOutcome>();
    sent.push((outcome) => {
      resolve(outcome === "created" ? { row, kind: outcome } : { row, kind: "failed", error: outcome });
      return setImmediate();
    });
    return promise;
  };
  const tally = new Tally(false, undefined);
  const ended = importRows(rows(), create, { inFlightMax: 4, tally, stop: noStop });
  return { sent, tally, ended };
}

const refusedToken = new ServiceRefused("The token is not valid.", {
  error: 40102,
  status: 401,
  requestId: "r",
  attempts: 1,
});

test("the first row is sent alone, and the others together once the service has accepted its token", async () => {
  const { sent } = startImport();
  await setImmediate();
  expect(sent).toHaveLength(1);
  await sent[0]?.("created");
  expect(sent).toHaveLength(5);
});

test("a refused token costs one request", async () => {
  const { sent, ended, tally } = startImport();
  await setImmediate();
  await sent[0]?.(refusedToken);
  expect(await ended).toStartWith("The service rejected the token (40102).");
  expect([sent.length, tally.rows]).toEqual([1, 0]);
});

test("a token that is refused later starts no further request, and the rows in flight finish", async () => {
  const { sent, ended, tally } = startImport();
  await setImmediate();
  await sent[0]?.("created");
  await sent[4]?.(refusedToken);
  for (const index of [1, 2, 3]) await sent[index]?.("created");
  expect(await ended).toStartWith("The service rejected the token (40102).");
  expect([sent.length, tally.created]).toEqual([5, 4]);
});

test("a request to stop is reported as such, even if the input that it ended is in no format", async () => {
  const next = () => Promise.reject(new FormatError("The file is empty; a CSV file needs a header."));
  const truncated = { [Symbol.asyncIterator]: () => ({ next }) };
  const stop = { ...noStop, requested: "SIGINT" };
  const ended = importRows(truncated, never, { inFlightMax: 4, tally: new Tally(false, undefined), stop });
  expect(await ended).toStartWith("Interrupted after line 0.");
});

async function never(): Promise<RowOutcome> {
  throw new Error("no row is sent");
}
