import { expect, test } from "bun:test";
import { appendFileSync, statSync, writeFileSync } from "node:fs";
import { fake } from "../../test/support/fake.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { openInput } from "./import-input.ts";
import type { Terminal } from "./terminal.ts";

test("the share of a file that grows while it is read is at most 1", async () => {
  using folder = temporaryFolder();
  const file = folder.newPath();
  // More than is read ahead.
  writeFileSync(file, `id,name\n${"1,Fern\n".repeat(300_000)}`);
  using input = await openInput(file, fake<Terminal>({}), new AbortController().signal);
  appendFileSync(file, "2,Fern\n".repeat(100_000));
  let bytes = 0;
  for await (const chunk of input.chunks) bytes += chunk.length;
  expect(bytes).toBe(statSync(file).size);
  expect(input.share(bytes)).toBe(1);
  // The last row is counted with a line break that the file need not have.
  expect(input.share(bytes + 1)).toBe(1);
});
