// Results and errors are tested with what the threads do, in writing/checkpointer.test.ts and test/storage/reading.test.ts.
import { describe, expect, test } from "bun:test";
import { openSync } from "node:fs";
import type { TestCalls } from "../../../../test/fixtures/test-thread.ts";
import { caught } from "../../../../test/support/caught.ts";
import { fakeTimers } from "../../../../test/support/clock.ts";
import { codeOf } from "../../../system/errors.ts";
import { inodeAt, inodeOf, isSameInode } from "../data-file/inode.ts";
import { Thread, type ThreadEntry } from "./thread.ts";

function startThread(held?: number) {
  const lost: string[] = [];
  const thread = new Thread<TestCalls>("../test/fixtures/test-thread" as ThreadEntry, {
    startData: held,
    onLost: ({ message }) => lost.push(message),
    keepsProcessAlive: false,
  });
  return { thread, lost };
}

/** Whether the handle is still that of the file: its number may belong to another one by now. */
function isOpen(handle: number, path: string): boolean {
  try {
    return isSameInode(inodeOf(handle), inodeAt(path));
  } catch (error) {
    if (codeOf(error) !== "EBADF") throw error;
    return false;
  }
}

test("a thread that ends in the middle rejects every call, and is reported lost once", async () => {
  const { thread, lost } = startThread();
  const first = caught(thread.ask("never"));
  const second = caught(thread.ask("never"));
  const last = caught(thread.ask("exit"));
  expect(await first).toEqual(new Error("the thread ended"));
  expect(await second).toEqual(new Error("the thread ended"));
  expect(await last).toEqual(new Error("the thread ended"));
  expect(await caught(thread.ask("never"))).toEqual(new Error("the thread ended"));
  await thread.stop();
  expect(lost).toEqual(["the thread ended"]);
});

describe("a thread that is stopped", () => {
  test("releases what it holds and rejects what it has not answered, also if it is stopped twice", async () => {
    const held = openSync(import.meta.path, "r");
    const { thread, lost } = startThread(held);
    const asked = caught(thread.ask("never"));
    await Promise.all([thread.stop(), thread.stop()]);
    expect(isOpen(held, import.meta.path)).toBe(false);
    expect(await asked).toEqual(new Error("the thread was stopped"));
    expect(lost).toEqual([]);
  });

  test("rejects a call that blocks it after two seconds", async () => {
    const { thread, lost } = startThread();
    const asked = caught(thread.ask("block"));
    using timers = fakeTimers();
    const stopped = thread.stop();
    timers.advance(1999);
    expect(timers.pending()).toBe(1);
    timers.advance(1);
    await stopped;
    expect(await asked).toEqual(new Error("the thread was stopped"));
    expect(lost).toEqual([]);
  });
});
