// The help of plant-store and of each of its commands: what it has, where it is printed, and that it fits a terminal.
import { expect, test } from "bun:test";
import { commands } from "../../src/cli/run.ts";
import { settings } from "../../src/config/settings.ts";
import { runInProcess } from "../support/terminal.ts";

const helpOf = (name: string) => runInProcess([...name.split(" "), "--help"]);

/** The variables of the secrets that a command reads. */
function secretsReadBy(command: string): string[] {
  const token = "PLANT_STORE_ACCESS_TOKEN";
  const password = "PLANT_STORE_DATABASE_PASSWORD";
  if (["serve", "config", "doctor"].includes(command)) return [token, "PLANT_STORE_OPERATOR_TOKEN", password];
  if (command === "import" || command === "follow") return [token];
  const opensStore = /^(?:token .*|audit|list|show|export|copy)$/.test(command);
  return opensStore ? [password] : [];
}

test("the help has one line for each command, on one screen; without a command it is a misuse", async () => {
  const { code, out, err } = await runInProcess(["--help"]);
  const lines = out.split("\n");
  const listed = lines.flatMap((line) => /^ {2}(\w+(?: \w+)?) {2}/.exec(line)?.[1] ?? []);
  expect(code).toBe(0);
  expect(err).toBe("");
  expect(listed).toEqual(Object.keys(commands));
  expect(lines.length).toBeLessThanOrEqual(24);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(await runInProcess([])).toEqual({ code: 2, out: "", err: out });
  expect(await runInProcess(["help", "token"])).toEqual({ code: 0, out, err: "" });
});

test.each(Object.keys(commands))(
  "the help of %s has examples, --quiet and what it reads, in 80 columns",
  async (name) => {
    const { code, out } = await helpOf(name);
    const secrets = [...out.matchAll(/^ {2}(PLANT_STORE_\w+(?:TOKEN|PASSWORD)) /gm)].map(
      ([, secret]) => secret,
    );
    expect(code).toBe(0);
    expect(out).toContain("\nExamples\n");
    expect(out.includes("--quiet")).toBe(name !== "serve");
    expect(secrets).toEqual(secretsReadBy(name));
    expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  },
);

test("the help of serve has every setting once", async () => {
  const flags = [...(await helpOf("serve")).out.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, flag = ""]) => flag);
  expect(flags.sort()).toEqual(
    Object.values(settings)
      .map(({ flag }) => flag)
      .sort(),
  );
});

test("the help of verify names the variable of its data file, and no PostgreSQL", async () => {
  const { out } = await helpOf("verify");
  expect(out).not.toContain("postgres://");
  expect(out).toContain("PLANT_STORE_DATABASE ");
});
