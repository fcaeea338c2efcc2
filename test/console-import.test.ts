import { describe, expect, test } from "bun:test";
import { ApiError, type OperatorApi } from "../src/console/api.ts";
import type { ImportedSlice } from "../src/console/api-shapes.ts";
import { ImportRun } from "../src/console/import/import-run.ts";
import { makeToken } from "./console-session.ts";
import { eventually, startTestService } from "./harness.ts";

const mebibyte = 1024 * 1024;
const acceptedBytesMax = 8 * mebibyte;
// Far more than any of these imports needs.
const requestsMax = 50;

/** What the service does with a slice that starts at `offset`: how many of its bytes it reads, or an error. */
type Service = (offset: number, bytes: number, request: number) => number | ApiError;

/** Imports a file of this length, and returns how that ended and the sizes of the slices. */
async function importFile(fileBytes: number, service: Service) {
  const sent: number[] = [];
  const fetch = async (path: string, { body }: { body: Blob }): Promise<Response> => {
    const offset = Number(new URL(path, "http://localhost").searchParams.get("cursor") ?? 0);
    sent.push(body.size);
    if (sent.length > requestsMax) throw new ApiError("This import does not end.", 50001);
    const consumed = service(offset, body.size, sent.length);
    if (typeof consumed !== "number") throw consumed;
    const [end, row] = [offset + consumed, sent.length];
    const outcomes: ImportedSlice["outcomes"] =
      consumed === 0 ? [] : [{ result: "created", first: row, last: row }];
    return Response.json({
      format: "json",
      consumed,
      cursor: String(end),
      done: end === fileBytes,
      outcomes,
    });
  };
  const run = new ImportRun(new File([new Uint8Array(fileBytes)], "plants.json"), {
    fetch,
  } as unknown as OperatorApi);
  await eventually(() => run.state !== "running", 60_000);
  return { state: run.state, message: (run.error as Error | undefined)?.message, sent };
}

const tooLarge = new ApiError("The body is over the limit.", 41301);
const tooLong = (row: number) =>
  `Row ${row} is longer than the service accepts. Shorten it, and import the file again.`;

test("a row that is longer than the largest slice ends an import in the console", async () => {
  const { state, message, sent } = await importFile(20 * mebibyte, (offset, bytes) => {
    if (bytes > acceptedBytesMax) return tooLarge;
    return offset < 1000 ? 1000 : 0;
  });
  expect([state, message]).toEqual(["failed", tooLong(2)]);
  expect(sent.at(-1)).toBeGreaterThan(acceptedBytesMax);
});

test("a response that reads nothing of the rest of the file ends an import in the console", async () => {
  const { state, message, sent } = await importFile(mebibyte, () => 0);
  expect([state, message, sent.at(-1)]).toEqual(["failed", tooLong(1), mebibyte]);
});

test("a long row is sent whole, even if the service restarts meanwhile", async () => {
  const row = 3 * mebibyte;
  const { state, sent } = await importFile(2 * row, (offset, bytes, request) => {
    if (request === 4 || request === 5) return new ApiError("The service is shutting down.", 50303);
    return bytes < row - (offset % row) ? 0 : row;
  });
  expect(state).toBe("done");
  // What was too short for the row is not sent again.
  expect(sent.slice(0, 8)).toEqual([0.25, 0.5, 1, 2, 1.5, 1.25, 2.5, 5].map((size) => size * mebibyte));
});

describe("a row of nine megabytes ends an import in the console, with its position,", () => {
  const long = "y".repeat(9 * mebibyte);
  const files: Readonly<Record<string, readonly [text: string, reason: string]>> = {
    "in.json": [
      `[{"id":1,"name":"a"},\n{"id":2,"name":"${long}"},{"id":3,"name":"c"}]`,
      "Line 2, element 2: ",
    ],
    "in.csv": [
      `id,name\n1,a\n2,${long}\n3,c\n`,
      "The row that starts on line 3 does not end within 4194304 bytes.",
    ],
    "in.CSV": [
      `id,name\n1,a\n2,"${"open\n".repeat(2 * mebibyte)}`,
      "The row that starts on line 3 does not end",
    ],
  };
  for (const [name, [text, reason]] of Object.entries(files)) {
    // With this limit, no slice that is four times as long as a row is accepted.
    test(name, async () => {
      await using running = await startTestService({ "max-body-bytes": "1048576" });
      const secret = await makeToken(running, "importer", ["plants:create", "operator"]);
      const run = new ImportRun(new File([text], name), clientOf(running.operatorUrl, secret));
      await eventually(() => run.state !== "running", 60_000);
      expect([run.state, run.report.created, run.canResume]).toEqual(["failed", 1, false]);
      expect((run.error as Error).message).toStartWith(reason);
    }, 90_000);
  }
});

/** As in the browser, where the console's own address comes before the path. */
function clientOf(operatorUrl: string, secret: string): OperatorApi {
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { Authorization: `Bearer ${secret}` };
    const response = await fetch(operatorUrl + path, { ...init, headers });
    if (response.ok) return response;
    const { error, message } = (await response.json()) as { error: number; message: string };
    throw new ApiError(message, error);
  };
  return { fetch: send } as unknown as OperatorApi;
}
