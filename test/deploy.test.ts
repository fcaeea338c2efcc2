import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { commands } from "../src/cli/run.ts";
import { readConfig } from "../src/config/read-config.ts";
import { secrets, settings } from "../src/config/settings.ts";
import { temporaryFolder } from "./harness.ts";

const folder = join(import.meta.dir, "../deploy");
const filesIn = (path: string) =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
const examples = filesIn(join(folder, "examples")).map((name) => `examples/${name}`);
const names = [...filesIn(folder), ...examples];
const read = (name: string) => readFileSync(join(folder, name), "utf8");
const token = "a-token-of-the-operator-0123456789";

// What the tests below use of these formats.
interface Pod {
  readonly containers: readonly {
    readonly env: readonly { readonly name: string; readonly value: string }[];
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    readonly [probe: `${string}Probe`]: { readonly httpGet: { readonly port: string } };
  }[];
  readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly selector?: object;
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: Pod };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[];
    readonly podMetricsEndpoints?: readonly {
      readonly port: string;
      readonly authorization: { readonly credentials: { readonly name: string; readonly key: string } };
    }[];
  };
}
interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly build?: { readonly context: string; readonly dockerfile: string };
        readonly environment: Readonly<Record<string, string>>;
        readonly secrets?: readonly string[];
        readonly volumes?: readonly string[];
        readonly networks?: readonly string[];
        readonly depends_on?: readonly string[] | object;
      }
    >
  >;
  readonly secrets?: object;
  readonly volumes?: object;
  readonly networks?: object;
}

const manifests = (name: string) => (Bun.YAML.parse(read(name)) as Manifest[]).flat();
/** The config of a service that is started with these variables; every file that they name has a token. */
const configOf = (environment: Readonly<Record<string, string>>) =>
  readConfig({ flags: {}, environment, readFile: () => token });

describe("the deploy files", () => {
  test("name only variables and flags that exist", () => {
    const known = new Set([
      ...Object.values(settings).map(({ environment }) => environment),
      ...Object.values(secrets).flatMap((environment) => [environment, `${environment}_FILE`]),
      // Of Compose itself.
      "PLANT_STORE_HOST",
    ]);
    const unknown = names.flatMap((name) => [
      ...[...read(name).matchAll(/\bPLANT_STORE_[A-Z_]+/g)]
        .map(([found]) => found)
        .filter((v) => !known.has(v)),
      ...[...read(name).matchAll(/(?:bin\/|-- |exec (?:-T )?\S+ )plant-store ([a-z][^\n>"]*)/g)].flatMap(
        ([, line = ""]) => unknownFlags(line),
      ),
    ]);
    expect(unknown).toEqual([]);
    expect(unknownFlags("backup /backups --kept 7")).toEqual(["backup --kept"]);
  });

  test("the examples say in their first line what was checked, and what was not", () => {
    for (const name of examples)
      expect([name, read(name).split("\n")[0]]).toEqual([
        name,
        expect.stringMatching(/^# Checked by test\/deploy\.test\.ts: .+\. Not checked: .+\.$/),
      ]);
  });

  for (const name of examples.filter((each) => each.startsWith("examples/compose"))) {
    test(`${name} defines what it refers to, and its console can be signed in to`, () => {
      const { services, ...defined } = Bun.YAML.parse(
        read(name).replaceAll(/\$\{PLANT_STORE_HOST:\?\}/g, "plants.example.org"),
      ) as Compose;
      const ours = Object.values(services).filter(
        ({ environment }) => environment && "PLANT_STORE_DATABASE" in environment,
      );
      expect(ours.length).toBeGreaterThan(0);
      for (const service of Object.values(services)) {
        const sources = (service.volumes ?? []).map((volume) => volume.split(":")[0] ?? "");
        const files = sources.filter((source) => source.startsWith("."));
        // An absolute path is a folder of the machine.
        const named = sources.filter((source) => !/^[./]/.test(source));
        expect(Object.keys(defined.volumes ?? {})).toEqual(expect.arrayContaining(named));
        if (service.build !== undefined) files.push(join(service.build.context, service.build.dockerfile));
        // Relative to the file that names them.
        expect(files.filter((file) => !existsSync(join(folder, dirname(name), file)))).toEqual([]);
        expect(Object.keys(defined.networks ?? {})).toEqual(
          expect.arrayContaining([...(service.networks ?? [])]),
        );
        expect(Object.keys(defined.secrets ?? {})).toEqual(
          expect.arrayContaining([...(service.secrets ?? [])]),
        );
        const before = Array.isArray(service.depends_on)
          ? service.depends_on
          : Object.keys(service.depends_on ?? {});
        expect(Object.keys(services)).toEqual(expect.arrayContaining(before));
      }
      for (const { environment, secrets: files = [] } of ours) {
        const config = configOf(environment);
        expect(config.operatorListen).toEqual({ host: "0.0.0.0", port: 3001 });
        const mounted = Object.entries(environment).filter(([variable]) => variable.endsWith("_FILE"));
        expect(mounted.map(([, file]) => file.replace("/run/secrets/", "")).sort()).toEqual(
          [...files].sort(),
        );
        // With a preset token, no first token is created: then the console needs one of its own.
        const scopes = config.presetTokens.flatMap((preset) => preset.scopes);
        if (scopes.length > 0) expect(scopes).toContain("operator");
      }
    });
  }

  for (const name of ["examples/kubernetes.yaml", "examples/kubernetes-sqlite.yaml"]) {
    test(`${name} defines what it refers to, and Prometheus and the console reach it`, () => {
      const all = manifests(name);
      const workload = all.find(({ kind }) => kind === "Deployment" || kind === "StatefulSet")?.spec;
      if (workload === undefined) throw new Error("There is no workload.");
      const pod = workload.template.spec;
      const [container] = pod.containers;
      if (container === undefined) throw new Error("There is no container.");
      const environment = Object.fromEntries(container.env.map((each) => [each.name, each.value]));
      const config = configOf(environment);
      const ports = container.ports.map((port) => port.name);
      expect(container.ports).toEqual([
        { name: "http", containerPort: config.listen.port },
        { name: "operator", containerPort: config.operatorListen?.port ?? 0 },
      ]);
      expect([config.listen.host, config.operatorListen?.host]).toEqual(["0.0.0.0", "0.0.0.0"]);
      expect(config.presetTokens.flatMap((preset) => preset.scopes)).toContain("operator");

      const services = all.filter(({ kind }) => kind === "Service");
      expect(services.map((service) => service.spec.ports?.map((port) => port.targetPort))).toEqual([
        ["http"],
        ["operator"],
      ]);
      for (const service of services)
        expect(service.spec.selector).toEqual(workload.template.metadata.labels);
      expect(config.operatorHosts).toContain(services[1]?.metadata.name ?? "");
      if (workload.serviceName !== undefined)
        expect(workload.serviceName).toBe(services[0]?.metadata.name ?? "");
      for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"] as const)
        expect(ports).toContain(container[probe]?.httpGet.port ?? "");
      const admitted = all.find(({ kind }) => kind === "NetworkPolicy")?.spec.ingress ?? [];
      expect(admitted.flatMap((rule) => rule.ports.map(({ port }) => port))).toEqual(ports);

      const claims = (workload.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
      const volumes = [...pod.volumes.map((volume) => volume.name), ...claims];
      expect(container.volumeMounts.map((mount) => mount.name).sort()).toEqual(volumes.sort());
      const secret = all.find(({ kind }) => kind === "Secret");
      const mounted = pod.volumes.find((volume) => volume.secret?.secretName === secret?.metadata.name);
      const path = container.volumeMounts.find((mount) => mount.name === mounted?.name)?.mountPath;
      const files = Object.entries(environment).filter(([variable]) => variable.endsWith("_FILE"));
      expect(files.map(([, file]) => file).sort()).toEqual(
        Object.keys(secret?.stringData ?? {})
          .map((key) => `${path}/${key}`)
          .sort(),
      );
    });
  }

  test("the StatefulSet has one pod, and its data file is on the volume", () => {
    const set = manifests("examples/kubernetes-sqlite.yaml").find(({ kind }) => kind === "StatefulSet")?.spec;
    const [container] = set?.template.spec.containers ?? [];
    const path = container?.env.find(({ name }) => name === "PLANT_STORE_DATABASE")?.value;
    const mount = container?.volumeMounts.find(({ name }) => name === "data")?.mountPath;
    expect([set?.replicas, path?.startsWith(`${mount}/`)]).toEqual([1, true]);
  });

  test("the monitor scrapes the operator listener, with a token from its secret", () => {
    const [secret, monitor] = manifests("examples/kubernetes-monitor.yaml");
    const [endpoint] = monitor?.spec.podMetricsEndpoints ?? [];
    expect(endpoint?.port).toBe("operator");
    expect(endpoint?.authorization.credentials.name).toBe(secret?.metadata.name ?? "");
    expect(Object.keys(secret?.stringData ?? {})).toEqual([endpoint?.authorization.credentials.key ?? ""]);
  });

  test("the service and its backup have the same data file", () => {
    const [, path = ""] = /PLANT_STORE_DATABASE=%S\/(\S+)/.exec(read("plant-store.service")) ?? [];
    expect(read("plant-store-backup.service")).toContain(`PLANT_STORE_DATABASE=%S/${path}\n`);
  });

  test("the console makes backups in the folder of the nightly ones, which both units may write to", () => {
    const [, backups = ""] = /ExecStart=\S+ backup %S\/(\S+)/.exec(read("plant-store-backup.service")) ?? [];
    expect(read("plant-store.service")).toContain(`Environment=PLANT_STORE_BACKUP_FOLDER=%S/${backups}\n`);
    for (const name of ["plant-store.service", "plant-store-backup.service"])
      expect(/^StateDirectory=(.*)$/m.exec(read(name))?.[1]?.split(" ")).toContain(backups);
  });
});

test("a unit that fails sends root a mail with the end of its journal", () => {
  for (const name of ["plant-store.service", "plant-store-backup.service"])
    expect(read(name)).toContain("\nOnFailure=plant-store-failed@%n.service\n");
  using bin = temporaryFolder();
  const write = (name: string, script: string) =>
    writeFileSync(join(bin.path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  write("journalctl", '[ "$1" = --sync ] || echo "journal of $*: ü %s"');
  write("sendmail", `echo "$*"; cat`);
  const [, quoted = ""] =
    /^ExecStart=\/bin\/sh -c '([\s\S]*)'$/m.exec(read("plant-store-failed@.service")) ?? [];
  // As systemd reads it.
  const script = quoted
    .replaceAll("\\\n", " ")
    .replaceAll("\\\\", "\\")
    .replaceAll("%i", "backup.service")
    .replaceAll("%H", "host");
  const { stdout, stderr } = Bun.spawnSync(["sh", "-c", script], {
    env: { PATH: `${bin.path}:${process.env["PATH"]}` },
  });
  expect([stderr.toString(), stdout.toString().split("\n")]).toEqual([
    "",
    [
      "-t -i",
      "To: root",
      "Subject: backup.service failed on host",
      "Content-Type: text/plain; charset=utf-8",
      "",
      "journal of --unit=backup.service --lines=30 --no-pager: ü %s",
      "",
    ],
  ]);
});

describe("the Caddyfile", () => {
  const noCaddy = Bun.which("caddy") === null;

  test("forwards to the service, and closes idle connections before it does", () => {
    const { host, port } = configOf({}).listen;
    expect(read("Caddyfile")).toContain(`\nreverse_proxy ${host}:${port} {\n`);
    expect(Number(/keepalive (\d+)s/.exec(read("Caddyfile"))?.[1])).toBeLessThan(75);
  });

  test.skipIf(noCaddy)(`is accepted by Caddy${noCaddy ? " (skipped: it is not installed)" : ""}`, () => {
    const { exitCode } = Bun.spawnSync(["caddy", "validate", "--config", join(folder, "Caddyfile")]);
    expect(exitCode).toBe(0);
  });
});

/** The flags of a command line that its command does not have. */
function unknownFlags(line: string): string[] {
  const [name, command] = Object.entries(commands).find(([each]) => `${line} `.startsWith(`${each} `)) ?? [];
  if (command === undefined) return [line];
  const flags = [
    ...Object.keys(command.flags ?? {}),
    ...(command.settings ?? []).map((setting) => settings[setting].flag),
  ];
  return [...line.matchAll(/ --([a-z-]+)/g)]
    .map(([, flag = ""]) => flag)
    .filter((flag) => !flags.includes(flag))
    .map((flag) => `${name} --${flag}`);
}
