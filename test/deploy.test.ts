// The files of deploy/: they name only settings and commands that exist, and contain no secret.
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../src/cli/run.ts";
import { readServiceConfig } from "../src/config/read-config.ts";
import { secrets, settings } from "../src/config/settings.ts";
import { start } from "./support/command.ts";
import { lacks } from "./support/lacks.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const folder = join(import.meta.dir, "../deploy");
const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.includes(".") && !name.includes("secrets"),
);
const examples = names.filter((name) => name.startsWith("examples/"));
const read = (name: string) => readFileSync(join(folder, name), "utf8");
const configOf = (environment: Record<string, string>, secret = "a-token-of-the-operator-0123456789") =>
  readServiceConfig({ flags: {}, environment, readFile: () => secret });

/** The objects of a YAML file, or those below them. */
type Node = Readonly<Record<string, unknown>>;
const parse = (name: string) =>
  [
    Bun.YAML.parse(read(name).replaceAll(/\$\{PLANT_STORE_HOST:\?\}/g, "plants.example.org")),
  ].flat() as Node[];
/** All values of that name, however deep, with those of lists one by one. */
function all<T = string>(node: unknown, name: string): T[] {
  if (typeof node !== "object" || node === null) return [];
  const own = Array.isArray(node) ? undefined : (node as Node)[name];
  const values = own === undefined ? [] : [own].flat();
  return [...(values as T[]), ...Object.values(node).flatMap((value) => all<T>(value, name))];
}
const keys = (node: unknown) => Object.keys(node ?? {});
const variables = [
  ...Object.values(settings).map(({ environment }) => environment),
  ...Object.values(secrets).flatMap(({ variable }) => [variable, `${variable}_FILE`]),
  // Of Compose itself.
  "PLANT_STORE_HOST",
];

test.each(names)("%s names only variables that exist", (name) => {
  expect(variables).toEqual(expect.arrayContaining(read(name).match(/\bPLANT_STORE_[A-Z_]+/g) ?? []));
});

const commandLines = names.flatMap((name) => {
  const lines = read(name).matchAll(/(?:bin\/|-- |exec (?:-T )?\S+ )plant-store ([a-z][^\n>"]*)/g);
  return Array.from(lines, ([, line = ""]) => [name, line] as const);
});

test.each(commandLines)("%s: plant-store %s is a command with flags that exist", (_, line) => {
  const command = Object.entries(commands).find(([each]) => `${line} `.startsWith(`${each} `))?.[1];
  expect(command).toBeDefined();
  const known = [...keys(command?.flags), ...(command?.settings ?? []).map((each) => settings[each].flag)];
  const used = Array.from(line.matchAll(/ --([a-z-]+)/g), ([, flag]) => flag);
  expect(known).toEqual(expect.arrayContaining(used));
});

test.each(examples)("%s says in its first line what was checked, and what was not", (name) => {
  expect(read(name)).toMatch(/^# Checked (?:by|on) .+: .+\. Not checked: .+\.\n/);
});

describe.each(examples.filter((name) => !name.includes("monitor")))("the service in %s", (name) => {
  const env = all<{ name: string; value: string }>(parse(name), "env").map((one) => [one.name, one.value]);
  const environments = [
    Object.fromEntries(env) as Record<string, string>,
    ...all<Record<string, string>>(parse(name), "environment"),
  ].filter((environment) => "PLANT_STORE_DATABASE" in environment);
  const nodes = environments.map((environment, index) => [index + 1, environment] as const);

  test("has one node or more", () => {
    expect(nodes.length).toBeGreaterThan(0);
  });

  test.each(nodes)("listens for operators on port 3001 of node %d", (_, environment) => {
    expect(configOf(environment).operatorListen).toEqual({ host: "0.0.0.0", port: 3001 });
  });

  test.each(nodes)("has a token for the console of node %d", (_, environment) => {
    const { presetTokens } = configOf(environment);
    // Without a preset token, the service creates the first one itself.
    if (presetTokens.length > 0) expect(presetTokens.flatMap(({ scopes }) => scopes)).toContain("operator");
  });
});

describe("a deploy file", () => {
  const manifests = examples.filter((name) => name.includes("kubernetes"));
  const placeholders = manifests
    .flatMap((name) => all<Node>(parse(name), "stringData"))
    .flatMap((node) => Object.values(node).map(String));

  test("of Kubernetes has placeholders for both tokens", () => {
    expect(placeholders.length).toBeGreaterThan(1);
  });

  describe.each([...new Set(placeholders)])("has the placeholder %j", (placeholder) => {
    test.each(["PLANT_STORE_ACCESS_TOKEN", "PLANT_STORE_OPERATOR_TOKEN"])(
      "which %s does not accept",
      (name) => {
        const environment = { [`${name}_FILE`]: "secret" };
        expect(() => configOf(environment, placeholder)).toThrow(`${name}_FILE must hold a token`);
      },
    );
  });

  // They name the files of secrets.
  test.each(names.filter((name) => !manifests.includes(name)))("has no secret: %s", (name) => {
    expect(read(name)).not.toMatch(/_(?:TOKEN|PASSWORD)[:=]/);
  });
});

const serviceUnit = read("plant-store.service");
const backupUnit = read("plant-store-backup.service");
const failedUnit = read("plant-store-failed@.service");

test("the unit of backups has the data file of the service", () => {
  const [database = ""] = /^Environment=PLANT_STORE_DATABASE=%S\/\S+$/m.exec(serviceUnit) ?? [];
  expect(database).not.toBe("");
  expect(backupUnit).toContain(`${database}\n`);
});

test("the service has the folder that the unit of backups writes to", () => {
  const [, backups = ""] = /ExecStart=\S+ backup %S\/(\S+)/.exec(backupUnit) ?? [];
  expect(serviceUnit).toContain(`Environment=PLANT_STORE_BACKUP_FOLDER=%S/${backups}\n`);
});

test.each([
  ["service", serviceUnit],
  ["unit of backups", backupUnit],
])("the folder of backups is created for the %s", (_, unit) => {
  const [, backups] = /ExecStart=\S+ backup %S\/(\S+)/.exec(backupUnit) ?? [];
  expect(/^StateDirectory=(.*)$/m.exec(unit)?.[1]?.split(" ")).toContain(backups);
});

test.each([
  ["service", serviceUnit],
  ["unit of backups", backupUnit],
])("a %s that fails starts the unit that sends a mail", (_, unit) => {
  expect(unit).toContain("\nOnFailure=plant-store-failed@%n.service\n");
});

test("the mail about a unit that failed has the end of its journal", async () => {
  using bin = temporaryFolder();
  const write = (name: string, script: string) =>
    writeFileSync(join(bin.path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  write("journalctl", '[ "$1" = --sync ] || echo "journal of $*: ü %s"');
  write("sendmail", `echo "$*"; cat`);
  // As systemd reads it.
  const script = (/^ExecStart=\/bin\/sh -c '([\s\S]*)'$/m.exec(failedUnit)?.[1] ?? "")
    .replaceAll("\\\n", " ")
    .replaceAll("\\\\", "\\")
    .replaceAll("%i", "backup.service")
    .replaceAll("%H", "host");
  const environment = { PATH: `${bin.path}:${process.env["PATH"]}` };
  const { out, err } = await start("sh", ["-c", script], { environment }).ended;
  const mail = `-t -i
To: root
Subject: backup.service failed on host
Content-Type: text/plain; charset=utf-8

journal of --unit=backup.service --lines=30 --no-pager: ü %s
`;
  expect(err).toBe("");
  expect(out).toBe(mail);
});

test("the Caddyfile forwards to the service", () => {
  const { host, port } = configOf({}).listen;
  expect(read("Caddyfile")).toContain(`\nreverse_proxy ${host}:${port} {\n`);
});

test("the Caddyfile closes idle connections before the service does", () => {
  expect(Number(/keepalive (\d+)s/.exec(read("Caddyfile"))?.[1])).toBeLessThan(75);
});

test.skipIf(lacks("Caddy", Bun.which("caddy") === null))("the Caddyfile is accepted by Caddy", async () => {
  const { code } = await start("caddy", ["validate", "--config", join(folder, "Caddyfile")]).ended;
  expect(code).toBe(0);
});

// An image that was built from a context without a folder that it copies fails late, and elsewhere.
test("the context of the image has exactly what the Dockerfile copies", () => {
  const lines = read("../.dockerignore").split("\n");
  const copied = [...read("Dockerfile").matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = ""]) =>
    list.split(" "),
  );
  expect(lines).toContain("*");
  expect(copied.map((path) => `!${path}`).sort()).toEqual(
    lines.filter((line) => line.startsWith("!")).sort(),
  );
});
