import { expect, test } from "bun:test";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Authority } from "./certificates.ts";
import { serve } from "./command.ts";
import { temporaryFolder } from "./harness.ts";

test("a restart reads a changed certificate and a changed token file, and loses no acknowledged plant", async () => {
  using folder = temporaryFolder();
  const [cert, key, token] = ["live.pem", "live.key", "token"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  const install = (authority: Authority, secret: string) => {
    const issued = authority.issue(secret);
    copyFileSync(issued.cert, cert);
    copyFileSync(issued.key, key);
    writeFileSync(token, `${secret}\n`);
    const ca = readFileSync(authority.path, "utf8");
    return async (url: string, id: number) => {
      const response = await fetch(`${url}/plants`, {
        method: "POST",
        headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
        body: JSON.stringify({ id, name: "rose" }),
        tls: { ca },
      });
      return [response.status, response.headers.get("Idempotent-Replayed")];
    };
  };
  const args = ["--database", join(folder.path, "p.db"), "--tls-cert", cert, "--tls-key", key];
  const options = { environment: { PLANT_STORE_ACCESS_TOKEN_FILE: token } };

  const createBefore = install(new Authority(folder.path, "authority-before"), "token-before-0123456789");
  await using before = await serve(args, options);
  expect(await createBefore(before.url, 1)).toEqual([200, null]);
  const createAfter = install(new Authority(folder.path, "authority-after"), "token-after-0123456789");
  expect(await createBefore(before.url, 2)).toEqual([200, null]);
  before.child.kill("SIGTERM");
  expect((await before.ended()).code).toBe(0);

  await using after = await serve(args, options);
  await expect(createBefore(after.url, 1)).rejects.toThrow();
  expect(await createAfter(after.url, 1)).toEqual([200, "true"]);
  expect(await createAfter(after.url, 2)).toEqual([200, "true"]);
});
