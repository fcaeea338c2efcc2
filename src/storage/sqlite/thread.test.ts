import { expect, test } from "bun:test";
import { fstatSync, openSync } from "node:fs";
import type { EchoCalls } from "../../../test/fixtures/echo-thread.ts";
import { Thread, type ThreadEntry, ThreadLost } from "./thread.ts";

// Results and errors are tested with what the threads do, in writing/checkpointer.test.ts and test/stores.test.ts.
function startEcho(held?: number) {
  const lost: string[] = [];
  const thread = new Thread<EchoCalls>("../test/fixtures/echo-thread" as ThreadEntry, {
    setting: held,
    onLost: ({ message }) => lost.push(message),
    keepsProcessAlive: false,
  });
  return { thread, lost };
}

const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

test("a thread that ends in the middle rejects every pending call, and is reported lost once", async () => {
  const { thread, lost } = startEcho();
  const asked = [thread.ask("never"), thread.ask("never"), thread.ask("exit")].map(reasonOf);
  for (const reason of await Promise.all(asked)) expect(reason).toBeInstanceOf(ThreadLost);
  expect(await reasonOf(thread.ask("echo", "too late"))).toBeInstanceOf(ThreadLost);
  await thread.stop();
  expect(lost).toEqual(["the thread ended"]);
});

test("a thread that is stopped releases what it holds, and is not reported lost", async () => {
  const held = openSync(import.meta.path, "r");
  const { thread, lost } = startEcho(held);
  const asked = reasonOf(thread.ask("never"));
  await Promise.all([thread.stop(), thread.stop()]);
  expect(await asked).toBeInstanceOf(ThreadLost);
  expect(() => fstatSync(held)).toThrow("EBADF");
  expect(lost).toEqual([]);
});

test("a thread that does not respond is stopped nevertheless", async () => {
  const { thread, lost } = startEcho();
  expect(await thread.ask("echo", "here")).toBe("here");
  const asked = reasonOf(thread.ask("block"));
  await thread.stop();
  expect(await asked).toBeInstanceOf(ThreadLost);
  expect(lost).toEqual([]);
});
