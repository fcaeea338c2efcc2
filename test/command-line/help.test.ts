// The help of plant-store and of each of its commands: what it has, where it is printed, and that it fits a terminal.
import { describe, expect, test } from "bun:test";
import { commands } from "../../src/cli/run.ts";
import { settings } from "../../src/config/settings.ts";
import { executable } from "../support/command.ts";
import { runInProcess } from "../support/terminal.ts";

async function linesWiderThan60(args: readonly string[]): Promise<string[]> {
  const { out } = await runInProcess(args, { terminal: { outColumns: 60 } });
  return out.split("\n").filter((line) => line.length > 60);
}

/** The variables of the secrets that a command reads. */
function secretsReadBy(command: string): string[] {
  const token = "PLANT_STORE_ACCESS_TOKEN";
  const password = "PLANT_STORE_DATABASE_PASSWORD";
  if (["serve", "config", "doctor"].includes(command)) return [token, "PLANT_STORE_OPERATOR_TOKEN", password];
  if (command === "import") return [token];
  const opensStore = /^(?:token .*|audit|list|show|export|copy)$/.test(command);
  return opensStore ? [password] : [];
}

describe("help", () => {
  test("is on standard output", async () => {
    const { code, out, err } = await runInProcess(["--help"]);
    expect(code).toBe(0);
    expect(out).toContain("Commands");
    expect(err).toBe("");
  });

  test("is on standard error, as a misuse, without a command", async () => {
    const { out } = await runInProcess(["--help"]);
    expect(await runInProcess([])).toEqual({ code: 2, out: "", err: out });
  });

  test("opens with examples", async () => {
    const { out } = await runInProcess(["--help"]);
    expect(out.indexOf("Examples")).toBeGreaterThanOrEqual(0);
    expect(out.indexOf("Examples")).toBeLessThan(out.indexOf("Commands"));
  });

  test("has one line for each command", async () => {
    const lines = (await runInProcess(["--help"])).out.split("\n");
    const first = lines.indexOf("Commands") + 1;
    const listed = lines.slice(first, lines.indexOf("", first)).map((line) => line.trim().split(" ")[0]);
    const names =
      "serve token audit list show export import backup restore verify copy config doctor ready version";
    expect(listed).toEqual(names.split(" "));
  });

  test("fits on one screen", async () => {
    const { out } = await runInProcess(["--help"]);
    const lines = out.split("\n");
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(out).not.toContain("\u001b");
  });

  describe.each(Object.keys(commands))("of %s", (name) => {
    const help = () => runInProcess([...name.split(" "), "--help"]);

    test("has examples", async () => {
      const { code, out } = await help();
      expect(code).toBe(0);
      expect(out).toContain("Examples");
    });

    test("fits a terminal of 80 columns", async () => {
      const { out } = await help();
      expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
    });

    test.skipIf(executable !== undefined)("fits a terminal of 60 columns", async () => {
      expect(await linesWiderThan60([...name.split(" "), "--help"])).toEqual([]);
    });

    const canBeQuiet = name !== "serve";
    test(`${canBeQuiet ? "offers" : "does not offer"} --quiet`, async () => {
      const { out } = await help();
      expect(out.includes("--quiet")).toBe(canBeQuiet);
    });

    test("names the secrets that it reads", async () => {
      const { out } = await help();
      const named = [...out.matchAll(/^ {2}(PLANT_STORE_\w+) /gm)].map(([, variable]) => variable);
      expect(named).toEqual(secretsReadBy(name));
    });
  });

  // The executable has no terminal here, and so 80 columns.
  test.skipIf(executable !== undefined)("of serve fits a terminal of 120 columns", async () => {
    const { out } = await runInProcess(["serve", "--help"], { terminal: { outColumns: 120 } });
    const widths = out.split("\n").map((line) => line.length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(120);
    expect(Math.max(...widths)).toBeGreaterThan(80);
  });

  test.skipIf(executable !== undefined)("fits a terminal of 60 columns", async () => {
    expect(await linesWiderThan60(["--help"])).toEqual([]);
  });

  test.skipIf(executable !== undefined)("breaks a long example between its flags", async () => {
    const { out } = await runInProcess(["copy", "--help"], { terminal: { outColumns: 60 } });
    expect(out).toContain(
      "  plant-store copy --from plants.db \\\n    --to postgres://plants@db.example.org/plants\n",
    );
  });

  test.each(["serve", "config", "doctor"])("of %s has every setting once, under a heading", async (name) => {
    const { out } = await runInProcess([name, "--help"]);
    const flags = [...out.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, flag]) => flag);
    const own = ["json", "quiet"];
    expect(flags.filter((flag) => !own.includes(flag ?? "")).sort()).toEqual(
      Object.values(settings)
        .map(({ flag }) => flag)
        .sort(),
    );
    expect(out).toContain("\n\nLogs\n  --log-level LEVEL");
  });

  test("of a command with few settings has them after its flags", async () => {
    const { out } = await runInProcess(["show", "--help"]);
    expect(out).toContain(
      "\n\nSettings (also as variables, such as PLANT_STORE_DATABASE)\n  --database PATH|URL",
    );
    expect(out.indexOf("\nFlags\n")).toBeLessThan(out.indexOf("\nSettings "));
  });

  test("of a command ends with the exit codes", async () => {
    const { out } = await runInProcess(["list", "--help"]);
    expect(out).toEndWith("\nExit codes\n  0 done, 1 failed, 2 misused, 130 or 143 interrupted\n");
  });

  test("of serve ends with the exit codes, of which a stop by a signal has 0", async () => {
    const { out } = await runInProcess(["serve", "--help"]);
    expect(out).toEndWith("\nExit codes\n  0 stopped, 1 failed, 2 misused\n");
  });

  test.each(["backup", "restore", "verify"])("of %s names no PostgreSQL, which it refuses", async (name) => {
    const { out } = await runInProcess([name, "--help"]);
    expect(out).not.toContain("postgres://");
  });

  test("of token has all its commands", async () => {
    const { code, out } = await runInProcess(["help", "token"]);
    const verbs = [...out.matchAll(/^plant-store (\w+ \w+)/gm)].map(([, verb]) => verb);
    expect(code).toBe(0);
    expect(verbs).toEqual(["token create", "token list", "token rotate", "token revoke"]);
  });
});
