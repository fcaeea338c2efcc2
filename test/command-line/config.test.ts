// What config prints of each setting: its value and its source, no secret, and nothing that a terminal would act on.
import { describe, expect, test } from "bun:test";
import { executable } from "../support/command.ts";
import { runInProcess } from "../support/terminal.ts";

describe("config", () => {
  test("has the value and the source of each setting, but no secret", async () => {
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

  test("refuses a token that the service would refuse, after it has listed it", async () => {
    const { code, out, err } = await runInProcess(["config"], {
      environment: { PLANT_STORE_ACCESS_TOKEN: "short" },
    });
    // The headings are the names of --json.
    expect(out).toMatch(/^name +source +value\n/);
    expect(out).toContain("(set, not shown)");
    expect(err).toContain("PLANT_STORE_ACCESS_TOKEN must hold a token of at least 20 of the characters");
    expect(code).toBe(2);
  });

  // What the executable reads cannot be seen from here.
  test.skipIf(executable !== undefined)("reads the file of a token once: it may be a pipe", async () => {
    const paths: string[] = [];
    const readFile = (path: string) => {
      paths.push(path);
      return "a-secret-of-twenty-letters";
    };
    const { code, out } = await runInProcess(["config"], {
      environment: { PLANT_STORE_ACCESS_TOKEN_FILE: "access", PLANT_STORE_OPERATOR_TOKEN_FILE: "operator" },
      terminal: { readFile },
    });
    expect(code).toBe(0);
    expect(out).toMatch(/^PLANT_STORE_ACCESS_TOKEN +file +\(set, not shown\)$/m);
    expect(paths.toSorted()).toEqual(["access", "operator"]);
  });

  const withPassword = "postgres://me:hidden@127.0.0.1:1/plants";

  test("warns of a password in a flag, and not of one in a variable", async () => {
    const inFlag = await runInProcess(["config", "--database", withPassword]);
    expect(inFlag.err).toContain("Every user of this machine can read the password in --database; use");
    expect(inFlag.out).not.toContain("hidden");
    const environment = { PLANT_STORE_DATABASE: withPassword };
    const inVariable = await runInProcess(["config"], { environment });
    expect(inVariable.err).toBe("");
    expect(inVariable.out).not.toContain("hidden");
  });
});

test("config escapes the control characters of the environment", async () => {
  const environment = {
    PLANT_STORE_DATABASE: "plants\u001b]0;pwned\u0007\n.db",
    "PLANT_STORE_\u009b31m": "x",
    PLANT_STORE_LOG_LEVEL: "\u001b[2J",
  };
  // Colours and cursor movements; the line ends are its own.
  const control = /(?!\n)\p{Cc}/u;
  const table = await runInProcess(["config"], { environment });
  expect(table.code).toBe(2);
  expect(table.out).not.toMatch(control);
  // On one line.
  expect(table.out).toMatch(/^database +environment +plants\\u\{1b\}\]0;pwned\\u\{7\}\\u\{a\}\.db$/m);
  expect(table.err).not.toMatch(control);
  expect(table.err).toContain("Unknown variable PLANT_STORE_\\u{9b}31m.\n");
  const json = await runInProcess(["config", "--json"], { environment });
  expect(json.out).not.toMatch(control);
  const value = environment.PLANT_STORE_DATABASE;
  expect(JSON.parse(json.out)).toContainEqual(
    expect.objectContaining({ name: "database", value, source: "environment" }),
  );
});
