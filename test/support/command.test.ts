// Waiting for a service that is a process: it fails as soon as that ends.
import { expect, test } from "bun:test";
import { start, untilListening } from "./command.ts";

test.each([
  ["exits", "exit 3", "serve ended with 3"],
  ["is killed by a signal", "kill -9 $$", "serve ended with SIGKILL"],
])("a service that %s before it listens is not waited for", async (_, script, message) => {
  const child = start("sh", ["-c", script], {});
  await expect(untilListening(child)).rejects.toThrow(message);
});
