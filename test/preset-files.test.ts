import { expect, test } from "bun:test";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "./command.ts";
import { eventually, post, temporaryFolder } from "./harness.ts";

test("preset tokens are reloaded on every worker when their file changes, and kept when it cannot be used", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "token");
  const [first, second, third] = ["first", "second", "third"].map((name) => `${name}-token-0123456789abcdef`);
  writeFileSync(file, `${first}\n`);
  await using service = await serve(["--database", join(folder.path, "p.db"), "--workers", "3"], {
    environment: { PLANT_STORE_ACCESS_TOKEN_FILE: file },
  });
  // Each on a connection of its own, so that every worker is asked.
  const statuses = async (secret: string | undefined) => {
    const headers = { Authorization: `Bearer ${secret}`, Connection: "close" };
    const asked = Array.from({ length: 24 }, () => post(service.url, '{"id":1,"name":"a"}', headers));
    return [...new Set((await Promise.all(asked)).map(({ status }) => status))];
  };
  const onlyValid = async (valid: string | undefined) => {
    for (const secret of [first, second, third])
      if (String(await statuses(secret)) !== (secret === valid ? "200" : "401")) return false;
    return true;
  };
  expect(await onlyValid(first)).toBe(true);

  // As Kubernetes and systemd do: another file under the same name.
  writeFileSync(`${file}.new`, `${second}\n`);
  renameSync(`${file}.new`, file);
  await eventually(() => onlyValid(second), 5000);

  const problems = () => service.err().match(/preset tokens could not be reloaded/g)?.length ?? 0;
  writeFileSync(file, "short");
  await eventually(() => problems() === 1);
  rmSync(file);
  await eventually(() => problems() === 2);
  await Bun.sleep(1200);
  expect([problems(), await onlyValid(second)]).toEqual([2, true]);

  writeFileSync(file, third ?? "");
  await eventually(() => onlyValid(third), 5000);
  for (const secret of [first, second, third]) expect(service.err()).not.toContain(secret ?? "");
}, 30_000);
