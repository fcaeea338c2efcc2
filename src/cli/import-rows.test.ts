import { expect, test } from "bun:test";
import { setImmediate } from "node:timers/promises";
import { ServiceUnreachable } from "../client/plant-store-client.ts";
import { FormatError, type InputRow } from "../files/input-row.ts";
import { progressLine, type RowOutcome, Tally } from "./import-report.ts";
import { attemptsToLast, importRows } from "./import-rows.ts";

const never = new AbortController().signal;
const noStop = { requested: never, aborting: never };

type Result = "created" | "refused" | Error;

/** An import of 20 rows, four at the same time. The test decides what becomes of each, and when. */
function startImport(unsent: readonly number[] = []) {
  const sent: ((result: Result) => Promise<void>)[] = [];
  async function* rows(): AsyncGenerator<InputRow> {
    for (let line = 1; line <= 20; line++)
      yield { line, json: new Uint8Array(), error: unsent.includes(line) ? "unsent" : undefined } as InputRow;
  }
  const create = (row: InputRow) => {
    const { promise, resolve, reject } = Promise.withResolvers<RowOutcome>();
    sent.push((result) => {
      if (result instanceof Error) reject(result);
      else if (result === "created") resolve({ row, kind: result });
      else resolve({ row, kind: result, error: 40020, message: "sent" });
      return setImmediate();
    });
    return promise;
  };
  const tally = new Tally(false, undefined);
  const ended = importRows(rows(), create, { inFlightMax: 4, tally, stop: noStop });
  return { sent, tally, ended };
}

test("the first row is sent alone, and the others together once the service has accepted its token", async () => {
  const { sent } = startImport();
  await setImmediate();
  expect(sent).toHaveLength(1);
  await sent[0]?.("created");
  expect(sent).toHaveLength(5);
});

test("a failure starts no further request, and the rows in flight finish", async () => {
  const { sent, ended, tally } = startImport();
  await setImmediate();
  await sent[0]?.("created");
  await sent[4]?.(new ServiceUnreachable("http://x could not be reached in 1 attempt: gone.", 1));
  for (const index of [1, 2, 3]) await sent[index]?.("created");
  expect(await ended).toBe(
    "The import stopped. http://x could not be reached in 1 attempt: gone. Run this again; it resumes.",
  );
  expect([sent.length, tally.created]).toEqual([5, 4]);
});

test("refused rows are reported in the order of the file, whatever the order of the responses", async () => {
  const { sent, ended, tally } = startImport([3, 5]);
  await setImmediate();
  await sent[0]?.("created");
  // Lines 2 and 4 are in flight, with 3 and 5 between and after them; the later response comes first.
  await sent[2]?.("refused");
  await sent[1]?.("refused");
  for (let index = 3; index < 18; index++) await sent[index]?.("created");
  expect(await ended).toBeUndefined();
  const listed = tally.listed.map(({ line, message }) => `${line} ${message}`);
  expect(listed).toEqual(["2 sent", "3 unsent", "4 sent", "5 unsent"]);
  expect([tally.created, tally.refused]).toEqual([16, 4]);
});

test("a request to stop is reported as such, even if the input that it ended is in no format", async () => {
  const next = () => Promise.reject(new FormatError("The file is empty; a CSV file needs a header."));
  const truncated = { [Symbol.asyncIterator]: () => ({ next }) };
  const stop = { ...noStop, requested: AbortSignal.abort("SIGINT") };
  const tally = new Tally(false, undefined);
  const create = () => Promise.reject(new Error("no row is sent"));
  const ended = await importRows(truncated, create, { inFlightMax: 4, tally, stop });
  expect(ended).toBe("Interrupted after line 0. Run this again; it resumes.");
});

test("--wait lasts at least that long, even if every delay is as short as it can be", () => {
  // Half of 250, 500, 1000, 2000, and then of 4000 ms each.
  const attempts = [0, 1, 125, 126, 1875, 1876, 60_000].map(attemptsToLast);
  expect(attempts).toEqual([1, 2, 2, 3, 5, 6, 35]);
});

test("the progress line has the share of the file, if its size is known, and refused rows, if there are any", () => {
  const tally = { rows: 1_234_567, refused: 0, seconds: 61.5, rowsPerSecond: 20_239 } as Tally;
  const half = progressLine({ sizeBytes: 1000, readBytes: 500 }, tally);
  expect(half).toBe("50%  1,234,567 rows  20,239/s  61 s");
  const pipe = progressLine({ sizeBytes: undefined, readBytes: 5 }, { ...tally, refused: 3 } as Tally);
  expect(pipe).toBe("1,234,567 rows  3 refused  20,239/s  61 s");
});
