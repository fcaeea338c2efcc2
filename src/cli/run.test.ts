import { describe, expect, mock, spyOn, test } from "bun:test";
import { runInProcess } from "../../test/support/terminal.ts";
import { TlsProblem } from "../http/tls-files.ts";
import { OutcomeUnknown } from "../plants/plant-store.ts";
import { version } from "./version.ts";

/** Runs a command that fails, and that fails again when it closes its store. */
async function runFailing(failure: Error, failureToClose: Error) {
  using _run = spyOn(version, "run").mockImplementation(async () => {
    await using _store = {
      [Symbol.asyncDispose]: async () => {
        throw failureToClose;
      },
    };
    throw failure;
  });
  const exitWithoutClosing = mock(async () => undefined as never);
  const { code, err } = await runInProcess(["version"], { terminal: { exitWithoutClosing } });
  return { code, err, staysOpen: exitWithoutClosing.mock.calls.length > 0 };
}

describe("a command that fails, and fails to close its store too,", () => {
  const known = new TlsProblem("no certificate");
  const unknown = new OutcomeUnknown("fsync failed");

  test("leaves it open if the outcome of closing it is unknown", async () => {
    const { staysOpen } = await runFailing(known, unknown);
    expect(staysOpen).toBe(true);
  });

  test("leaves it open if the outcome was unknown before", async () => {
    const { staysOpen } = await runFailing(unknown, new Error("closed already"));
    expect(staysOpen).toBe(true);
  });

  test("ends as usual otherwise", async () => {
    const { staysOpen } = await runFailing(known, new Error("closed already"));
    expect(staysOpen).toBe(false);
  });

  test("reports the first failure, and then the other", async () => {
    const { err } = await runFailing(known, unknown);
    expect(err).toBe("plant-store: no certificate\nplant-store: fsync failed\n");
  });

  test("has the exit code of the first failure", async () => {
    const { code } = await runFailing(known, new Error("closed already"));
    expect(code).toBe(2);
  });
});
