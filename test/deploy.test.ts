// The files of deploy/: they name only settings and commands that exist, and contain no secret.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settingsOf } from "../src/cli/command.ts";
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

const variables = [
  ...Object.values(settings).map(({ variable }) => variable),
  ...Object.values(secrets).flatMap(({ variable }) => [variable, `${variable}_FILE`]),
  // Of Compose itself.
  "PLANT_STORE_HOST",
];

test("the files name only variables, commands and flags that exist", () => {
  const unknownVariables = names.flatMap((name) =>
    (read(name).match(/\bPLANT_STORE_[A-Z_]+/g) ?? [])
      .filter((variable) => !variables.includes(variable))
      .map((variable) => `${name}: ${variable}`),
  );
  expect(unknownVariables).toEqual([]);

  const commandLines = names.flatMap((name) => {
    const lines = read(name).matchAll(/(?:bin\/|-- |exec (?:-T )?\S+ )plant-store ([a-z][^\n>"]*)/g);
    return Array.from(lines, ([, line = ""]) => `${line} `);
  });
  expect(commandLines).not.toEqual([]);
  const unknownFlags = commandLines.flatMap((line) => {
    const command = Object.entries(commands).find(([each]) => line.startsWith(`${each} `))?.[1];
    const known = [
      ...Object.keys(command?.flags ?? {}),
      ...(command === undefined ? [] : settingsOf(command)).map(({ flag }) => flag),
    ];
    const used = Array.from(line.matchAll(/ --([a-z-]+)/g), ([, flag = ""]) => flag);
    return command === undefined ? [line] : used.filter((flag) => !known.includes(flag));
  });
  expect(unknownFlags).toEqual([]);
});

/** All values of that name in a YAML file, however deep. */
function valuesOf<Value>(file: string, name: string): Value[] {
  const found: Value[] = [];
  const text = read(file).replaceAll(/\$\{PLANT_STORE_HOST:\?\}/g, "plants.example.org");
  JSON.stringify(Bun.YAML.parse(text), (key, value) => {
    if (key === name) found.push(value);
    return value;
  });
  return found;
}

test.each(examples.filter((name) => !name.includes("monitor")))(
  "each service in %s listens for operators, whose console has a token, and knows where its backups are",
  (name) => {
    const variables = valuesOf<{ name: string; value: string }[]>(name, "env").flat();
    const environments = [
      Object.fromEntries(variables.map((one) => [one.name, one.value])),
      ...valuesOf<Record<string, string>>(name, "environment"),
    ].filter((environment) => "PLANT_STORE_DATABASE" in environment);
    expect(environments).not.toEqual([]);
    for (const one of environments.map((environment) => configOf(environment))) {
      const { database, backupFolder, operatorListen, presetTokens } = one;
      // With it, a start without its volume begins no empty store.
      if (database.startsWith("/")) expect(backupFolder).toBe("/backups");
      expect(operatorListen).toEqual({ host: "0.0.0.0", port: 3001 });
      // Without a preset token, the service creates the first one itself.
      if (presetTokens.length > 0) expect(presetTokens.flatMap(({ scopes }) => scopes)).toContain("operator");
    }
  },
);

test("each example says in its first line what was checked, and what was not", () => {
  const firstLine = /^# Checked (?:by|on) .+: .+\. Not checked: .+\.\n/;
  expect(examples.filter((name) => !firstLine.test(read(name)))).toEqual([]);
});

test("no file has a secret, and no placeholder for one is accepted", () => {
  const manifests = examples.filter((name) => name.includes("kubernetes"));
  // The others name the files of secrets.
  const others = names.filter((name) => !manifests.includes(name));
  expect(others.filter((name) => /_(?:TOKEN|PASSWORD)[:=]/.test(read(name)))).toEqual([]);
  const secrets = manifests.flatMap((name) => valuesOf<Record<string, string>>(name, "stringData"));
  const placeholders = secrets.flatMap((one) => Object.values(one));
  expect(placeholders.length).toBeGreaterThan(1);
  for (const placeholder of placeholders)
    for (const variable of ["PLANT_STORE_ACCESS_TOKEN_FILE", "PLANT_STORE_OPERATOR_TOKEN_FILE"])
      expect(() => configOf({ [variable]: "secret" }, placeholder)).toThrow(`${variable} must hold a token`);
});

const serviceUnit = read("plant-store.service");
const backupUnit = read("plant-store-backup.service");
const failedUnit = read("plant-store-failed@.service");

test("the service and the unit of backups have the same data file and folder, and report a failure", () => {
  const [database = ""] = /^Environment=PLANT_STORE_DATABASE=%S\/\S+$/m.exec(serviceUnit) ?? [];
  expect(database).not.toBe("");
  expect(backupUnit).toContain(`${database}\n`);
  const [, backups] = /ExecStart=\S+ backup %S\/(\S+)/.exec(backupUnit) ?? [];
  expect(serviceUnit).toContain(`Environment=PLANT_STORE_BACKUP_FOLDER=%S/${backups}\n`);
  for (const unit of [serviceUnit, backupUnit]) {
    expect(/^StateDirectory=(.*)$/m.exec(unit)?.[1]?.split(" ")).toContain(backups);
    expect(unit).toContain("\nOnFailure=plant-store-failed@%n.service\n");
  }
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

test("the Caddyfile forwards to the service, and closes idle connections before it does", () => {
  const { host, port } = configOf({}).listen;
  expect(read("Caddyfile")).toContain(`\nreverse_proxy ${host}:${port} {\n`);
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
