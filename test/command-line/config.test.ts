// What config prints of each setting: its value and its source, no secret, and nothing that a terminal would act on.
import { describe, expect, test } from "bun:test";
import { executable } from "../support/command.ts";
import { runInProcess } from "../support/terminal.ts";

describe("config", () => {
  test("has the names of --json as headings", async () => {
    const { out } = await runInProcess(["config"]);
    expect(out).toMatch(/^name +value +source\n/);
  });

  test.each([
    { name: "listen", value: "[::1]:1", source: "flag" },
    { name: "max-pending", value: "77", source: "environment" },
    { name: "log-level", value: "info", source: "default" },
    { name: "PLANT_STORE_ACCESS_TOKEN", value: "(set, not shown)", source: "environment" },
  ])("has the value and the source of $name", async (setting) => {
    const environment = {
      PLANT_STORE_MAX_PENDING: "77",
      PLANT_STORE_ACCESS_TOKEN: "a-secret-of-twenty-letters",
    };
    const { out } = await runInProcess(["config", "--listen", "[::1]:1", "--json"], { environment });
    expect(JSON.parse(out)).toContainEqual(expect.objectContaining(setting));
    expect(out).not.toContain("a-secret");
  });

  test("names a variable that it does not know", async () => {
    const environment = { PLANT_STORE_DATABSE: "x" };
    const { err } = await runInProcess(["config", "--json"], { environment });
    expect(err).toBe("plant-store: Unknown variable PLANT_STORE_DATABSE.\n");
  });

  test("refuses a token that the service would refuse, after it has listed it", async () => {
    const { code, out, err } = await runInProcess(["config"], {
      environment: { PLANT_STORE_ACCESS_TOKEN: "short" },
    });
    expect(out).toContain("(set, not shown)");
    expect(err).toContain("PLANT_STORE_ACCESS_TOKEN must hold a token of at least 20 characters");
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
    expect(out).toMatch(/^PLANT_STORE_ACCESS_TOKEN +\(set, not shown\) +file$/m);
    expect(paths.toSorted()).toEqual(["access", "operator"]);
  });

  const withPassword = "postgres://me:hidden@127.0.0.1:1/plants";

  test("warns of a password in a flag", async () => {
    const { out, err } = await runInProcess(["config", "--database", withPassword]);
    expect(err).toContain("Every user of this machine can read the password in --database; use");
    expect(out).not.toContain("hidden");
  });

  test("does not warn of a password in a variable", async () => {
    const { out, err } = await runInProcess(["config"], {
      environment: { PLANT_STORE_DATABASE: withPassword },
    });
    expect(err).toBe("");
    expect(out).not.toContain("hidden");
  });
});

describe("control characters of the environment", () => {
  const environment = {
    PLANT_STORE_DATABASE: "plants\u001b]0;pwned\u0007\n.db",
    "PLANT_STORE_\u009b31m": "x",
    PLANT_STORE_LOG_LEVEL: "\u001b[2J",
  };
  // Colours and cursor movements; the line ends are its own.
  const control = /(?!\n)\p{Cc}/u;

  test("are escaped by config, in each line", async () => {
    const { out } = await runInProcess(["config"], { environment });
    expect(out).not.toMatch(control);
    expect(out).toContain("database ");
    expect(out).toContain("plants\\u{1b}]0;pwned\\u{7}\\u{a}.db");
  });

  test("are escaped by config, in its messages", async () => {
    const { code, err } = await runInProcess(["config"], { environment });
    expect(code).toBe(2);
    expect(err).not.toMatch(control);
    expect(err).toContain("Unknown variable PLANT_STORE_\\u{9b}31m.\n");
  });

  test("are escaped by config --json", async () => {
    const { out } = await runInProcess(["config", "--json"], { environment });
    expect(out).not.toMatch(control);
    const value = environment.PLANT_STORE_DATABASE;
    expect(JSON.parse(out)).toContainEqual(
      expect.objectContaining({ name: "database", value, source: "environment" }),
    );
  });
});
