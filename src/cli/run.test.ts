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
  const known = misuse("no certificate");
  const unknown = new OutcomeUnknown("fsync failed");

  test("leaves the store open if the outcome of closing it is unknown, and reports both", async () => {
    const { err, staysOpen } = await runFailing(known, unknown);
    expect(staysOpen).toBe(true);
    // Its own failure comes first.
    expect(err).toBe("plant-store: no certificate\nplant-store: fsync failed\n");
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

test("a command whose reader has paused ends if it was interrupted before, or at a signal to stop", async () => {
  /** Runs a command that ends with this code, to a reader that reads nothing, and returns the code of the exit. */
  async function exitCodeWithPausedReader(code: number, waitForStopSignal: () => Promise<string>) {
    using _run = spyOn(version, "run").mockResolvedValue(code);
    const exit = Promise.withResolvers<number>();
    const exitWithoutClosing = async (exitCode: number) => {
      exit.resolve(exitCode);
      return undefined as never;
    };
    const outFlushed = () => new Promise<never>(() => {});
    await runInProcess(["version"], { waitForStopSignal, terminal: { outFlushed, exitWithoutClosing } });
    return exit.promise;
  }

  expect(await exitCodeWithPausedReader(130, () => new Promise<never>(() => {}))).toBe(130);
  expect(await exitCodeWithPausedReader(0, async () => "SIGTERM")).toBe(143);
});
