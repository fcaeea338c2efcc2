// The help of plant-store and of each of its commands: what it has, where it is printed, and that it fits a terminal.
import { describe, expect, test } from "bun:test";
import { commands } from "../../src/cli/run.ts";
import { settings } from "../../src/config/settings.ts";
import { runInProcess } from "../support/terminal.ts";

/** The variables of the secrets that a command reads. */
function secretsReadBy(command: string): string[] {
  const token = "PLANT_STORE_ACCESS_TOKEN";
  const password = "PLANT_STORE_DATABASE_PASSWORD";
  if (["serve", "config", "doctor"].includes(command)) return [token, "PLANT_STORE_OPERATOR_TOKEN", password];
  if (command === "import" || command === "follow") return [token];
  const opensStore = /^(?:token .*|audit|list|show|export|copy)$/.test(command);
  return opensStore ? [password] : [];
}

describe("help", () => {
  test("has examples and then one line for each command, on one screen", async () => {
    const { code, out, err } = await runInProcess(["--help"]);
    const lines = out.split("\n");
    const first = lines.indexOf("Commands") + 1;
    const listed = lines.slice(first, lines.indexOf("", first)).map((line) => line.trim().split(" ")[0]);
    const names =
      "serve token audit list show export follow import backup restore verify copy config doctor ready version";
    expect(code).toBe(0);
    expect(err).toBe("");
    expect(out).toMatch(/Examples.*Commands/s);
    expect(listed).toEqual(names.split(" "));
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(out).not.toContain("\u001b");
  });

  test("is on standard error, as a misuse, without a command", async () => {
    const { out } = await runInProcess(["--help"]);
    expect(await runInProcess([])).toEqual({ code: 2, out: "", err: out });
  });

  test("of every command has examples, --quiet and the secrets that it reads", async () => {
    for (const name of Object.keys(commands)) {
      const { code, out } = await helpOf(name);
      const named = [...out.matchAll(/^ {2}(PLANT_STORE_\w+) (?!.*in place of)/gm)].map(
        ([, variable]) => variable,
      );
      const has = { examples: out.includes("\nExamples\n"), quiet: out.includes("--quiet"), secrets: named };
      expect(code).toBe(0);
      expect({ name, ...has }).toEqual({
        name,
        examples: true,
        quiet: name !== "serve",
        secrets: secretsReadBy(name),
      });
    }
  });

  test("fits a terminal of 80 columns", async () => {
    for (const name of ["", ...Object.keys(commands)]) {
      const { out } = await runInProcess([...words(name), "--help"]);
      const long = out.split("\n").filter((line) => line.length > 80);
      expect(long).toEqual([]);
    }
  });

  test.each(["serve", "config", "doctor"])("of %s has every setting once, under a heading", async (name) => {
    const { out } = await helpOf(name);
    const flags = [...out.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, flag]) => flag);
    const own = ["json", "quiet"];
    const ofSettings = Object.values(settings).map(({ flag }) => flag as string | undefined);
    expect(flags.filter((flag) => !own.includes(flag ?? "")).sort()).toEqual(ofSettings.sort());
    expect(out).toContain("\n\nLogs\n  --log-level LEVEL");
  });

  test("of a command has its few settings after its flags, and ends with the exit codes", async () => {
    const { out } = await helpOf("show");
    expect(out).toContain("\n\nStorage\n  --database PATH|URL");
    expect(out.indexOf("\nFlags\n")).toBeLessThan(out.indexOf("\nStorage\n"));
    expect(out).toEndWith("\nExit codes\n  0 done, 1 failed, 2 misused, 130 or 143 interrupted\n");
    const serve = await helpOf("serve");
    expect(serve.out).toEndWith("\nExit codes\n  0 stopped, 1 failed, 2 misused\n");
  });

  test.each(["backup", "restore", "verify"])(
    "of %s names the variable of its data file, and no PostgreSQL",
    async (name) => {
      const { out } = await helpOf(name);
      expect(out).not.toContain("postgres://");
      expect(out).toContain("PLANT_STORE_DATABASE");
    },
  );

  test("of token has all its commands", async () => {
    const { code, out } = await runInProcess(["help", "token"]);
    const verbs = [...out.matchAll(/^plant-store (\w+ \w+)/gm)].map(([, verb]) => verb);
    expect(code).toBe(0);
    expect(verbs).toEqual(["token create", "token list", "token rotate", "token revoke"]);
  });
});

/** The words of a command's name; none if it is empty. */
function words(name: string): string[] {
  return name === "" ? [] : name.split(" ");
}

function helpOf(name: string) {
  return runInProcess([...words(name), "--help"]);
}
