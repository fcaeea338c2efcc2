// What config prints of each setting: its value and its source, no secret, and nothing that a terminal would act on.
import { expect, test } from "bun:test";
import { executable } from "../support/command.ts";
import { runInProcess } from "../support/terminal.ts";

test("config has the value and the source of each setting, but no secret", async () => {
  const environment = {
    PLANT_STORE_MAX_PENDING: "77",
    PLANT_STORE_ACCESS_TOKEN: "a-secret-of-twenty-letters",
  };
  const { out } = await runInProcess(["config", "--listen", "[::1]:1", "--json"], { environment });
  const expected = [
    { name: "listen", value: "[::1]:1", source: "flag" },
    { name: "max-pending", value: "77", source: "environment" },
    { name: "log-level", value: "info", source: "default" },
    { name: "PLANT_STORE_ACCESS_TOKEN", value: "(set, not shown)", source: "environment" },
  ].map((setting) => expect.objectContaining(setting));
  expect(JSON.parse(out)).toEqual(expect.arrayContaining(expected));
  expect(out).not.toContain("a-secret");
});

test("config refuses a token that the service would refuse, after it has listed it", async () => {
  const environment = { PLANT_STORE_ACCESS_TOKEN: "short" };
  const { code, out, err } = await runInProcess(["config"], { environment });
  expect(out).toMatch(/^name +source +value\n.*\(set, not shown\)/s);
  expect(err).toContain("PLANT_STORE_ACCESS_TOKEN must hold a token of at least 20 of the characters");
  expect(code).toBe(2);
});

// What the executable reads cannot be seen from here.
test.skipIf(executable !== undefined)("config reads the file of a token once: it may be a pipe", async () => {
  const paths: string[] = [];
  const readFile = (path: string) => {
    paths.push(path);
    return "a-secret-of-twenty-letters";
  };
  const environment = {
    PLANT_STORE_ACCESS_TOKEN_FILE: "access",
    PLANT_STORE_OPERATOR_TOKEN_FILE: "operator",
  };
  const { code } = await runInProcess(["config"], { environment, terminal: { readFile } });
  expect(code).toBe(0);
  expect(paths.toSorted()).toEqual(["access", "operator"]);
});

test("config warns of a password in a flag, and not of one in a variable", async () => {
  const withPassword = "postgres://me:hidden@127.0.0.1:1/plants";
  const inFlag = await runInProcess(["config", "--database", withPassword]);
  expect(inFlag.err).toContain("Every user of this machine can read the password in --database; use");
  const inVariable = await runInProcess(["config"], { environment: { PLANT_STORE_DATABASE: withPassword } });
  expect(inVariable.err).toBe("");
  expect(inFlag.out + inVariable.out).not.toContain("hidden");
});

test("config escapes the control characters of the environment", async () => {
  const value = "plants\u001b]0;pwned\u0007\n.db";
  const environment = { PLANT_STORE_DATABASE: value, "PLANT_STORE_\u009b31m": "x" };
  const table = await runInProcess(["config"], { environment });
  const json = await runInProcess(["config", "--json"], { environment });
  // The line ends are its own.
  expect(table.out + table.err + json.out).not.toMatch(/(?!\n)\p{Cc}/u);
  expect(table.out).toMatch(/^database +environment +plants\\u\{1b\}\]0;pwned\\u\{7\}\\u\{a\}\.db$/m);
  expect(table.err).toBe("plant-store: Unknown variable PLANT_STORE_\\u{9b}31m.\n");
  expect(JSON.parse(json.out)).toContainEqual(expect.objectContaining({ name: "database", value }));
});
