// From the first start to the stop: the tokens that are created, what is logged, and a graceful shutdown.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import packageFile from "../../package.json" with { type: "json" };
import {
  executable,
  expectOneLine,
  type Finished,
  listeningLine,
  sendSecondSignal,
  serve,
  shellArguments,
  start,
  startOnTerminal,
  startPlantStore,
} from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacks } from "../support/lacks.ts";
import { operatorFetch, operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess, serveInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment, bothTokensEnvironment } from "../support/tokens.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** Starts the service in this process, and stops it once it listens. */
function startAndStop(args: readonly string[], environment: Record<string, string> = {}): Promise<Finished> {
  return runInProcess(["serve", ...args], { environment, waitForStopSignal: async () => "test" });
}

describe("the first run", () => {
  test("prints and logs where its token is, and the token nowhere, with a curl line that works when it is pasted", async () => {
    const database = join(folder.newFolder(), "data/plants.db");
    const tokenFile = `${database}.first-token`;
    await using service = await serveInProcess(["--database", relative(".", database)]);
    const printed = service.out();
    const logged = service.err();
    const [, , operatorUrl] = listeningLine.exec(logged) ?? [];
    for (const address of [`${service.url}/plants`, `${service.url}/docs`, `${operatorUrl}/`, tokenFile])
      expect(printed).toContain(address);
    expect(logged).toContain(tokenFile);
    expect(logged).toContain(`"service.version":"${packageFile.version}"`);
    const token = readFileSync(tokenFile, "utf8");
    expect(token).toMatch(/^pst_\w{49}\n$/);
    expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
    expect(printed + logged).not.toContain(token.trim());

    const command = printed.slice(printed.indexOf("curl ")).replace("curl ", "curl -s ");
    expect((await start("sh", ["-c", command]).ended).out).toBe('{"name":"Fern","tag":"indoor"}');
    expect(storedPlants(database)).toMatchObject([{ id: 1n, created_by: "first" }]);
  });

  test("on a terminal prints the token itself instead of writing a file", async () => {
    const database = folder.newPath();
    const args = ["serve", "--listen", "127.0.0.1:0", "--operator-listen", "off", "--database", database];
    await using service = startOnTerminal(args);
    await eventually(() => service.out().includes("listening") && /pst_\w{49}/.test(service.out()));
    expect(service.out()).toContain("Your first token can send plants.");
    expect(service.out()).not.toContain("console");
    expect(existsSync(`${database}.first-token`)).toBe(false);
  });

  test("creates no token if its file would have the name of a symbolic link", async () => {
    const database = folder.newPath();
    const file = `${database}.first-token`;
    symlinkSync(`${file}.target`, file);
    const { out } = await startAndStop(["--database", database]);
    expect(out).toContain(`the file ${file} cannot be created for one: it exists already`);
    expect(out).toContain("plant-store token create --name NAME");
    expect(existsSync(`${file}.target`)).toBe(false);
    const tokens = await runInProcess(["token", "list", "--json", "--database", database]);
    expect(JSON.parse(tokens.out)).toEqual([]);
  });

  test("writes the token beside the file that a link leads to, or into the folder for it, as that is named", async () => {
    const link = folder.newPath();
    const target = join(folder.newFolder(), "plants.db");
    symlinkSync(target, link);
    expect((await startAndStop(["--database", link])).out).toContain(`${target}.first-token`);
    expect(existsSync(`${target}.first-token`)).toBe(true);

    const linked = folder.newPath();
    symlinkSync(folder.newFolder(), linked);
    const database = join(linked, "plants.db");
    expect((await startAndStop(["--database", database])).out).toContain(`${database}.first-token`);
    const tokens = folder.newFolder();
    const apart = await startAndStop(["--database", folder.newPath(), "--token-folder", tokens]);
    expect(apart.out).toContain(join(tokens, "first-token"));
    expect(existsSync(join(tokens, "first-token"))).toBe(true);
  });

  test.each(["--listen", "--operator-listen"])(
    "that cannot listen on %s says why, and leaves the token to the next",
    async (flag) => {
      await using other = await startTestService();
      const address = `127.0.0.1:${other.port}`;
      const database = folder.newPath();
      const { code, out, err } = await startAndStop([flag, address, "--database", database]);
      expect(code).toBe(1);
      expect(out).toBe("");
      expect(err).toContain(`${address} is in use by another process`);
      expectOneLine(err);
      // Nobody would see the token.
      expect(existsSync(database)).toBe(false);
      expect((await startAndStop(["--database", database])).out).toContain(`${database}.first-token`);
    },
  );

  test("that has no preset token creates one, and no run after it", async () => {
    const database = folder.newPath();
    const tokenFile = `${database}.first-token`;
    const preset = await startAndStop(["--database", database], accessTokenEnvironment);
    expect(preset.out).not.toContain("token");
    expect((await startAndStop(["--database", database])).out).toContain(tokenFile);
    rmSync(tokenFile);
    expect((await startAndStop(["--database", database])).out).not.toContain(tokenFile);
    expect(existsSync(tokenFile)).toBe(false);
  });
});

// npm-start.test.ts has those by a signal to npm, and by Ctrl-C.
test.skipIf(executable !== undefined)("a graceful shutdown follows the death of the launcher", async () => {
  const args = ["serve", "--database", folder.newPath()];
  await using service = startPlantStore(args, { ownGroup: true, through: "launcher" });
  await eventually(() => service.err().includes("listening"));
  service.child.kill("SIGKILL");
  await eventually(() => service.err().includes("every acknowledged plant is on disk"));
  expect(service.err()).toContain('"plant_store.stop_reason":"the launcher has ended"');
});

test("a service is unready but serves for the drain delay, which a second signal ends", async () => {
  const args = ["--database", folder.newPath(), "--drain-delay", "10m"];
  await using service = await serve(args, { environment: bothTokensEnvironment });
  service.child.kill("SIGTERM");
  await eventually(() => service.err().includes("stopping"));

  const readyz = await fetch(`${service.url}/readyz`);
  expect(readyz.status).toBe(503);
  expect(await readyz.json()).toMatchObject({ error: 50303 });
  const metrics = await (await operatorFetch(service, "/metrics")).text();
  expect(metrics).toContain("\nplant_store_ready 0\n");
  expect(metrics).toContain('\nplant_store_tokens{state="live"} 0\n');
  expect(await operatorGet(service, "/api/overview")).toMatchObject({ store: { ready: false } });
  expect((await post(service.url, '{"id":1,"name":"a"}')).status).toBe(200);

  await sendSecondSignal(service, "SIGINT");
  expect((await service.ended).code).toBe(130);
});

test.skipIf(lacks("Linux, whose /dev/full is always full", process.platform !== "linux"))(
  "a log on a full disk does not change the exit code of a graceful shutdown",
  async () => {
    const args = ["serve", "--operator-listen", "off", "--database", folder.newPath()];
    await using service = start("sh", shellArguments('exec "$@" 2>/dev/full', args), {
      environment: accessTokenEnvironment,
    });
    const greeting = /(http:\/\/\S+)\/plants/;
    await eventually(() => greeting.test(service.out()), "the greeting");
    const [, url = ""] = greeting.exec(service.out()) ?? [];
    expect((await post(url, '{"id":1,"name":"a"}')).status).toBe(200);
    service.child.kill("SIGTERM");
    expect((await service.ended).code).toBe(0);
  },
);

/** A database of another program. */
function createForeign(path: string): void {
  using database = new Database(path);
  database.run("CREATE TABLE x (y)");
}

test.each<[message: string, path: string, make: (path: string) => unknown]>([
  ["not one of plant-store's", folder.newPath(), createForeign],
  ["cannot be created", join(folder.newPath(), "p.db"), (path) => writeFileSync(dirname(path), "")],
  // Even by root.
  ["/proc/plants.db cannot be opened", "/proc/plants.db", () => {}],
])("a start that cannot succeed says why in one sentence: %s", async (message, path, make) => {
  make(path);
  const { code, err } = await startAndStop(["--database", path]);
  expect(code).toBe(1);
  expect(err).toContain(message);
  expectOneLine(err);
  expect(err).not.toMatch(/\bat .*:\d+:\d+|node_modules|\.ts\b/);
});
