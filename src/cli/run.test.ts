import { afterEach, describe, expect, mock, spyOn, test } from "bun:test";
import { runInProcess } from "../../test/support/terminal.ts";
import { TlsProblem } from "../http/tls-files.ts";
import { OutcomeUnknown } from "../plants/plant-store.ts";
import { version } from "./version.ts";

afterEach(() => mock.restore());

/** Whether the process ends without closing what is open, if a command fails so. */
async function staysOpen(failure: Error, failureToClose: Error): Promise<boolean> {
  spyOn(version, "run").mockImplementation(async () => {
    await using _store = {
      [Symbol.asyncDispose]: async () => {
        throw failureToClose;
      },
    };
    throw failure;
  });
  const exitWithoutClosing = mock(async () => undefined as never);
  await runInProcess(["version"], { terminal: { exitWithoutClosing } });
  return exitWithoutClosing.mock.calls.length > 0;
}

describe("a command that fails, and fails to close its store too,", () => {
  const known = new TlsProblem("no certificate");
  const unknown = new OutcomeUnknown("fsync failed");

  test("leaves it open if the outcome of closing it is unknown", async () => {
    expect(await staysOpen(known, unknown)).toBe(true);
  });

  test("leaves it open if the outcome was unknown before", async () => {
    expect(await staysOpen(unknown, new Error("closed already"))).toBe(true);
  });

  test("ends as usual otherwise", async () => {
    expect(await staysOpen(known, new Error("closed already"))).toBe(false);
  });
});
