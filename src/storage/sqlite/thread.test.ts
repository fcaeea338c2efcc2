import { expect, test } from "bun:test";
import { fstatSync, openSync } from "node:fs";
import type { TestCalls } from "../../../test/fixtures/test-thread.ts";
import { Thread, type ThreadEntry, ThreadLost } from "./thread.ts";

// Results and errors are tested with what the threads do, in writing/checkpointer.test.ts and test/storage/stores.test.ts.
function startThread(held?: number) {
  const lost: string[] = [];
  const thread = new Thread<TestCalls>("../test/fixtures/test-thread" as ThreadEntry, {
    setting: held,
    onLost: ({ message }) => lost.push(message),
    keepsProcessAlive: false,
  });
  return { thread, lost };
}

const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

test("a thread that ends in the middle rejects every pending call, and is reported lost once", async () => {
  const { thread, lost } = startThread();
  const asked = [thread.ask("never"), thread.ask("never"), thread.ask("exit")].map(reasonOf);
  for (const reason of await Promise.all(asked)) expect(reason).toBeInstanceOf(ThreadLost);
  expect(await reasonOf(thread.ask("never"))).toBeInstanceOf(ThreadLost);
  await thread.stop();
  expect(lost).toEqual(["the thread ended"]);
});

test("a thread that is stopped releases what it holds, and one that does not respond is stopped nevertheless", async () => {
  const held = openSync(import.meta.path, "r");
  for (const [call, setting] of [
    ["block", undefined],
    ["never", held],
  ] as const) {
    const { thread, lost } = startThread(setting);
    const asked = reasonOf(thread.ask(call));
    await Promise.all([thread.stop(), thread.stop()]);
    expect(await asked).toBeInstanceOf(ThreadLost);
    expect(lost).toEqual([]);
  }
  expect(() => fstatSync(held)).toThrow("EBADF");
});
