import { describe, expect, test } from "bun:test";
import { fstatSync, openSync } from "node:fs";
import type { EchoCalls, EchoSetting } from "../../../test/fixtures/echo-thread.ts";
import { Thread, type ThreadEntry, ThreadLost } from "./thread.ts";

class KnownProblem extends Error {
  override readonly name = "KnownProblem";
}

function startEcho(setting: EchoSetting = {}) {
  const lost: string[] = [];
  const thread = new Thread<EchoCalls>("../test/fixtures/echo-thread" as ThreadEntry, {
    setting,
    errors: { KnownProblem },
    onLost: ({ message }) => lost.push(message),
    keepsProcessAlive: false,
  });
  return { thread, lost, [Symbol.asyncDispose]: () => thread.stop() };
}

const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describe("a thread", () => {
  test("answers what it is asked", async () => {
    await using echo = startEcho({ prefix: "> " });
    const answers = [echo.thread.ask("echo", "one"), echo.thread.ask("echo", "two")];
    expect(await Promise.all(answers)).toEqual(["> one", "> two"]);
  });

  test("rejects with its error: of its own class if that is known, and always with its code", async () => {
    await using echo = startEcho();
    const known = await reasonOf(echo.thread.ask("fail", "KnownProblem", "a known one", ""));
    expect(known).toBeInstanceOf(KnownProblem);
    expect(known).toMatchObject({ message: "a known one" });
    const other = await reasonOf(echo.thread.ask("fail", "SQLiteError", "disk I/O error", "SQLITE_IOERR"));
    expect(other).toBeInstanceOf(Error);
    expect(other).toMatchObject({ name: "SQLiteError", message: "disk I/O error", code: "SQLITE_IOERR" });
    expect(await echo.thread.ask("echo", "still there")).toBe("still there");
  });

  test("that ends in the middle rejects every pending call, and is reported lost once", async () => {
    const { thread, lost } = startEcho();
    const asked = [thread.ask("never"), thread.ask("never"), thread.ask("exit")].map(reasonOf);
    for (const reason of await Promise.all(asked)) expect(reason).toBeInstanceOf(ThreadLost);
    expect(await reasonOf(thread.ask("echo", "too late"))).toBeInstanceOf(ThreadLost);
    await thread.stop();
    expect(lost).toEqual(["the thread ended"]);
  });

  test("that cannot start is lost, with the reason", async () => {
    const { thread, lost } = startEcho({ broken: true });
    expect(String(await reasonOf(thread.ask("echo", "")))).toContain("it cannot start");
    expect(lost).toEqual([expect.stringContaining("it cannot start")]);
    await thread.stop();
  });

  test("releases what it holds when it is stopped, and is not reported lost", async () => {
    const held = openSync(import.meta.path, "r");
    const { thread, lost } = startEcho({ held });
    const asked = reasonOf(thread.ask("never"));
    await Promise.all([thread.stop(), thread.stop()]);
    expect(await asked).toBeInstanceOf(ThreadLost);
    expect(() => fstatSync(held)).toThrow("EBADF");
    expect(lost).toEqual([]);
  });

  test("that does not respond is stopped nevertheless", async () => {
    const { thread, lost } = startEcho();
    await thread.ask("echo", "");
    const asked = reasonOf(thread.ask("block"));
    await thread.stop();
    expect(await asked).toBeInstanceOf(ThreadLost);
    expect(lost).toEqual([]);
  });
});
