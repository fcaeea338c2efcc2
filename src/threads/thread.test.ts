import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { EchoCalls, EchoStarterCalls } from "../../test/fixtures/echo-thread.ts";
import { Thread, type ThreadEntry, ThreadLost, threadEntries } from "./thread.ts";

class KnownProblem extends Error {
  override readonly name = "KnownProblem";
}

function startEcho(setting: object = {}) {
  const heard: string[] = [];
  const calls: EchoStarterCalls = {
    double: (number) => number * 2,
    stopped: () => heard.push("stopped"),
  };
  const thread = new Thread<EchoCalls>("../test/fixtures/echo-thread" as ThreadEntry, {
    setting,
    calls,
    errors: { KnownProblem },
    onLost: ({ message }) => heard.push(`lost: ${message}`),
    keepsProcessAlive: false,
  });
  return { thread, heard, [Symbol.asyncDispose]: () => thread.stop() };
}

const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describe("a thread", () => {
  test("answers what it is asked, and may ask back", async () => {
    await using echo = startEcho({ prefix: "> " });
    await echo.thread.started;
    const answers = [echo.thread.ask("echo", "one"), echo.thread.ask("echo", "two")];
    expect(await Promise.all(answers)).toEqual(["> one", "> two"]);
    expect(await echo.thread.ask("throughStarter", 20)).toBe(41);
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
    const { thread, heard } = startEcho();
    const asked = [thread.ask("never"), thread.ask("never")].map(reasonOf);
    thread.tell("exit");
    for (const reason of await Promise.all(asked)) expect(reason).toBeInstanceOf(ThreadLost);
    expect(await reasonOf(thread.ask("echo", "too late"))).toBeInstanceOf(ThreadLost);
    thread.tell("exit");
    await thread.stop();
    expect(heard).toEqual(["lost: the thread ended"]);
  });

  test("that cannot start is lost, with the reason", async () => {
    const { thread, heard } = startEcho({ broken: true });
    expect(String(await reasonOf(thread.started))).toContain("it cannot start");
    expect(heard).toEqual([expect.stringContaining("it cannot start")]);
    await thread.stop();
  });

  test("releases what it holds when it is stopped, and is not reported lost", async () => {
    const { thread, heard } = startEcho();
    const asked = reasonOf(thread.ask("never"));
    await Promise.all([thread.stop(), thread.stop()]);
    expect(await asked).toBeInstanceOf(ThreadLost);
    await Bun.sleep(50);
    expect(heard).toEqual(["stopped"]);
  });

  test("that does not respond is stopped nevertheless", async () => {
    const { thread, heard } = startEcho();
    await thread.started;
    const asked = reasonOf(thread.ask("block"));
    await thread.stop();
    expect(await asked).toBeInstanceOf(ThreadLost);
    expect(heard).toEqual([]);
  });

  for (const entry of threadEntries)
    test(`can be started from ${entry}`, () => {
      expect(existsSync(join(import.meta.dir, "..", `${entry}.ts`))).toBe(true);
    });
});
