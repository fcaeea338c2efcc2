import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

test("a file that cannot be written is removed, so that the next start can create it", () => {
  const folder = mkdtempSync(join(tmpdir(), "first-token-"));
  const file = join(folder, "first-token");
  const script = `
    import { FirstTokenIssuer } from ${JSON.stringify(join(import.meta.dir, "first-token.ts"))};
    import { writeNew } from ${JSON.stringify(join(import.meta.dir, "../storage/sqlite/durable-files.ts"))};
    const stored = [];
    const store = { all: async () => stored, addFirst: async (token) => void stored.push(token) };
    const issuer = new FirstTokenIssuer(store, { file: ${JSON.stringify(file)} }, writeNew);
    console.log(JSON.stringify(await issuer.issue()));`;
  const issue = (limit: string) => {
    const command = `trap '' XFSZ; ulimit -f ${limit}; exec "$0" -e "$1"`;
    const { stdout } = Bun.spawnSync(["sh", "-c", command, process.execPath, script]);
    return JSON.parse(stdout.toString());
  };
  try {
    expect(issue("0")).toEqual({ problem: expect.stringContaining("EFBIG") });
    expect(existsSync(file)).toBe(false);
    expect(issue("unlimited")).toEqual({ file });
    expect(readFileSync(file, "utf8")).toMatch(/^pst_\w{49}\n$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
