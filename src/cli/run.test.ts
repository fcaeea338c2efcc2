import { describe, expect, mock, spyOn, test } from "bun:test";
import { runInProcess } from "../../test/support/terminal.ts";
import { OutcomeUnknown } from "../plants/plant-store.ts";
import { misuse } from "../system/problem.ts";
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

describe("a failed command that cannot close its store", () => {
  const known = misuse("no certificate.");
  const unknown = new OutcomeUnknown("fsync failed");

  test("leaves the store open if the outcome of closing it is unknown, and reports both", async () => {
    const { err, staysOpen } = await runFailing(known, unknown);
    expect(staysOpen).toBe(true);
    // Its own failure comes first.
    expect(err).toBe(
      "plant-store: no certificate. See plant-store version --help.\nplant-store: fsync failed\n",
    );
  });

  test("leaves the store open if the outcome of the command is unknown", async () => {
    const { staysOpen } = await runFailing(unknown, new Error("closed already"));
    expect(staysOpen).toBe(true);
  });

  test("has the exit code of its own failure if both outcomes are known", async () => {
    const { code, staysOpen } = await runFailing(known, new Error("closed already"));
    expect(staysOpen).toBe(false);
    expect(code).toBe(2);
  });
});

test("a command whose reader has paused ends at a signal to stop", async () => {
  const { code } = await runInProcess(["version"], {
    waitForStopSignal: async () => "SIGTERM",
    terminal: { outFlushed: () => new Promise<never>(() => {}) },
  });
  expect(code).toBe(143);
});
