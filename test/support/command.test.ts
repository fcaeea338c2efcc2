// Processes of a test: one that ends before it listens is not waited for, and one that is owned does not outlive its block.
import { expect, test } from "bun:test";
import { start, untilListening } from "./command.ts";
import { eventually } from "./eventually.ts";

test.each([
  ["exits", "exit 3", "serve ended with 3"],
  ["is killed by a signal", "kill -9 $$", "serve ended with SIGKILL"],
])("a service that %s before it listens is not waited for", async (_, script, message) => {
  await expect(untilListening(start("sh", ["-c", script]))).rejects.toThrow(message);
});

test("a process is killed at the end of the block that owns it", async () => {
  const sleeping = start("sleep", ["1000"]);
  {
    await using _ = sleeping;
  }
  expect(sleeping.child.signalCode).toBe("SIGKILL");
});

test("a process that leads a group is killed with its descendants", async () => {
  const leader = start("sh", ["-c", "sleep 1000 & echo started; wait"], { ownGroup: true });
  {
    await using _ = leader;
    await eventually(() => leader.out() === "started\n");
  }
  // It has ended only once nobody has its output open, and `sleep` had it too.
  expect(leader.child.signalCode).toBe("SIGKILL");
});

test("a character whose bytes arrive one after the other is read as one", async () => {
  const script = String.raw`printf '\303'; sleep 0.1; printf '\274'`;
  const { out } = await start("sh", ["-c", script]).ended;
  expect(out).toBe("ü");
});
