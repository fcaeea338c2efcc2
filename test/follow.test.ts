import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { startPlantStore } from "./command.ts";
import { followThroughKills } from "./follow-rounds.ts";
import {
  accessToken,
  eventually,
  operatorToken,
  post,
  startTestService,
  storedPlants,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { startTcpProxy } from "./tcp-proxy.ts";
import { runInProcess } from "./terminal.ts";

const environment = {
  PLANT_STORE_OPERATOR_TOKEN: operatorToken,
  PLANT_STORE_ACCESS_TOKEN: accessToken,
};

async function addPlants(service: TestService, from: number, to: number): Promise<void> {
  const ids = Array.from({ length: to - from }, (_, index) => from + index);
  await Promise.all(ids.map((id) => post(service.url, JSON.stringify({ id, name: `n${id}`, tag: "t" }))));
}

function followOnce(service: TestService, to: string, ...more: string[]) {
  return runInProcess(["follow", "--from", service.operatorUrl, "--to", to, "--once", ...more], {
    environment,
  });
}

/** The rows of every sealed segment, each compared with its checksum. */
function segmentRows(folder: string): { id: number; name: string; cursor: string }[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".ndjson"));
  return names.sort().flatMap((name) => {
    const bytes = readFileSync(join(folder, name));
    const sum = createHash("sha256").update(bytes).digest("hex");
    expect(readFileSync(join(folder, `${name}.sha256`), "utf8")).toBe(`${sum}  ${name}\n`);
    return bytes
      .toString()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  });
}

const contents = (file: string) => storedPlants(file).map(({ id, name, tag }) => ({ id, name, tag }));

describe("follow", () => {
  test("to a data file copies every plant with its time and sender, and resumes", async () => {
    using folder = temporaryFolder();
    const copy = join(folder.path, "copy.db");
    await using source = await startTestService();
    await addPlants(source, 0, 50);
    await post(source.url, '{"id":-9223372036854775808,"name":"without a tag"}');
    const first = await followOnce(source, copy, "--json");
    expect([first.code, first.err]).toEqual([
      0,
      `Copying plants to the new data file ${copy}; a folder would end with a slash.\n51 plants copied, 0 already there, 0 conflicts.\n`,
    ]);
    expect(JSON.parse(first.out)).toEqual({ created: 51, replayed: 0, conflicts: 0, refused: 0 });
    expect(storedPlants(copy)).toEqual(storedPlants(source.database));
    await addPlants(source, 50, 60);
    expect((await followOnce(source, copy)).err).toBe(
      `Copying plants to the data file ${copy}.\n10 plants copied, 0 already there, 0 conflicts.\n`,
    );
    expect(storedPlants(copy)).toEqual(storedPlants(source.database));
    // Another file in the place of the copy is filled from the first plant.
    rmSync(copy);
    expect((await followOnce(source, copy)).err).toContain("starting from the first.\n");
    expect(storedPlants(copy)).toEqual(storedPlants(source.database));
  }, 30_000);

  test("to a service creates the plants there, and reports conflicts without stopping", async () => {
    using folder = temporaryFolder();
    const cursor = ["--cursor", join(folder.path, "second.cursor")];
    await using source = await startTestService();
    await using target = await startTestService();
    await addPlants(source, 0, 2100);
    await post(target.url, '{"id":7,"name":"another"}');
    const { code, err } = await followOnce(source, target.url, ...cursor);
    expect([code, err]).toEqual([
      1,
      `Copying plants to the service ${target.url}.\n` +
        "conflict: The id 7 already belongs to a plant with a different name and a different tag.\n" +
        "2,099 plants copied, 0 already there, 1 conflict.\n",
    ]);
    const others = (file: string) => contents(file).filter(({ id }) => id !== 7n);
    expect(others(target.database)).toEqual(others(source.database));
    expect((await followOnce(source, target.url, ...cursor)).err).toContain("\n0 plants copied, 0 already");
  }, 30_000);

  test("to a folder writes sealed segments that import reads, and resumes from the folder itself", async () => {
    using folder = temporaryFolder();
    const copies = join(folder.path, "copies");
    await using source = await startTestService();
    await addPlants(source, 0, 30);
    expect((await followOnce(source, `${copies}/`)).code).toBe(0);
    // As a kill leaves it.
    writeFileSync(join(copies, "plants-000000000002.ndjson.partial"), '{"id":1,"na');
    await addPlants(source, 30, 40);
    const first = readFileSync(join(copies, "plants-000000000001.ndjson"));
    expect((await followOnce(source, copies)).err).toBe(
      `Copying plants to segments in the folder ${copies}.\n10 plants copied, 0 already there, 0 conflicts.\n`,
    );
    expect(readFileSync(join(copies, "plants-000000000001.ndjson")).equals(first)).toBe(true);
    expect(segmentRows(copies)).toHaveLength(40);
    expect(new Set(segmentRows(copies).map(({ id }) => id)).size).toBe(40);
    expect(segmentRows(copies)[0]).toMatchObject({ createdBy: "preset-access", cursor: expect.any(String) });
    expect(readdirSync(copies).filter((name) => name.endsWith(".partial"))).toEqual([]);
    await using restored = await startTestService();
    for (const name of ["plants-000000000001.ndjson", "plants-000000000002.ndjson"]) {
      const args = ["import", join(copies, name), "--url", restored.url];
      expect((await runInProcess(args, { environment })).code).toBe(0);
    }
    expect(contents(restored.database)).toEqual(contents(source.database));
    appendFileSync(join(copies, "plants-000000000002.ndjson"), "changed\n");
    expect((await followOnce(source, copies)).err).toContain("does not match its checksum");
  }, 30_000);

  test("continues as plants are stored, through restarts of the source, and ends on SIGTERM", async () => {
    using folder = temporaryFolder();
    const [database, copy] = [join(folder.path, "source.db"), join(folder.path, "copy.db")];
    let source = await startTestService({}, database);
    using proxy = await startTcpProxy(() => Number(new URL(source.operatorUrl).port));
    const args = ["follow", "--from", `http://127.0.0.1:${proxy.port}`, "--to", copy];
    const following = startPlantStore(args, { environment });
    const copied = () => {
      try {
        return storedPlants(copy).length;
      } catch {
        return 0; // It is being created.
      }
    };
    await addPlants(source, 0, 10);
    await eventually(() => copied() === 10);
    await source[Symbol.asyncDispose]();
    await eventually(() => /cannot be reached: [^?]+ Retrying\.\n/.test(following.err()));
    source = await startTestService({}, database);
    await addPlants(source, 10, 20);
    await eventually(() => copied() === 20);
    following.child.kill("SIGTERM");
    const { code, err } = await following.ended;
    expect([code, err]).toEqual([0, expect.stringContaining("connected again\n20 plants copied")]);
    await source[Symbol.asyncDispose]();
  }, 30_000);

  test("stops at a restored source, and says what to do", async () => {
    using folder = temporaryFolder();
    const path = (name: string) => join(folder.path, name);
    {
      await using source = await startTestService({}, path("source.db"));
      await addPlants(source, 0, 5);
      await followOnce(source, path("copy.db"));
      await followOnce(source, `${path("segments")}/`);
      await runInProcess(["backup", path("backup.db"), "--database", path("source.db")]);
    }
    await runInProcess(["restore", path("backup.db"), "--database", path("restored.db")]);
    await using restored = await startTestService({}, path("restored.db"));
    const toFile = await followOnce(restored, path("copy.db"));
    expect([toFile.code, toFile.err]).toEqual([
      1,
      expect.stringMatching(
        /refuses to be followed: The cursor is of another store.* delete .*copy\.db\.cursor/,
      ),
    ]);
    expect((await followOnce(restored, path("segments"))).err).toContain("name another folder");
    rmSync(path("copy.db.cursor"));
    expect((await followOnce(restored, path("copy.db"))).err).toContain("\n0 plants copied, 5 already there");
  }, 30_000);

  test("counts one plant in the singular, and says nothing about success with --quiet", async () => {
    using folder = temporaryFolder();
    await using source = await startTestService();
    await addPlants(source, 0, 1);
    expect((await followOnce(source, `${folder.path}/a/`)).err).toContain(
      "\n1 plant copied, 0 already there, 0 conflicts.\n",
    );
    expect(await followOnce(source, `${folder.path}/b/`, "--quiet")).toEqual({ code: 0, out: "", err: "" });
  });

  test("says that it needs the operator listener if --from is another one", async () => {
    using folder = temporaryFolder();
    await using source = await startTestService();
    const args = ["follow", "--from", source.url, "--to", `${folder.path}/a/`, "--once"];
    expect(await runInProcess(args, { environment })).toMatchObject({
      code: 1,
      err: expect.stringContaining("Check --from: it must be the operator listener (--operator-listen)."),
    });
  });

  test("needs its tokens and a file for the cursor, and is refused without the scope", async () => {
    const run = (to: string, variables: Record<string, string>) =>
      runInProcess(["follow", "--from", "http://127.0.0.1:9", "--to", to, "--once"], {
        environment: variables,
      });
    expect(await run("x/", {})).toMatchObject({
      code: 2,
      err: "plant-store: PLANT_STORE_OPERATOR_TOKEN is not set. --from needs a token with the scope operator:read; plant-store token create --name NAME --scope operator:read creates one.\n",
    });
    const { PLANT_STORE_OPERATOR_TOKEN } = environment;
    expect((await run("http://127.0.0.1:9", { PLANT_STORE_OPERATOR_TOKEN })).err).toContain(
      "ACCESS_TOKEN is not",
    );
    expect((await run("http://127.0.0.1:9", environment)).err).toContain("--cursor FILE");
    expect((await runInProcess(["follow", "--from", "x"], { environment })).code).toBe(2);
    using folder = temporaryFolder();
    await using source = await startTestService();
    const asClient = { environment: { ...environment, PLANT_STORE_OPERATOR_TOKEN: accessToken } };
    const args = ["follow", "--from", source.operatorUrl, "--to", `${folder.path}/`];
    expect(await runInProcess(args, asClient)).toMatchObject({
      code: 1,
      err: expect.stringContaining("lacks the scope operator:read"),
    });
  }, 30_000);

  test("never writes through a symlink, whether a segment, its checksum or a cursor", async () => {
    using folder = temporaryFolder();
    const path = (name: string) => join(folder.path, name);
    await using source = await startTestService();
    await addPlants(source, 0, 3);
    mkdirSync(path("copies"));
    const links = ["copies/plants-000000000001.ndjson.partial", "copies/plants-000000000001.ndjson.sha256"];
    for (const name of [...links, "copy.db.cursor.partial"]) symlinkSync(path("precious"), path(name));
    writeFileSync(path("precious"), "precious");
    const [toFolder, toFile] = await Promise.all([
      followOnce(source, path("copies")),
      followOnce(source, path("copy.db")),
    ]);
    expect([toFolder.code, toFile.code]).toEqual([0, 0]);
    expect(readFileSync(path("precious"), "utf8")).toBe("precious");
    expect(segmentRows(path("copies"))).toHaveLength(3);
  }, 30_000);

  test("stores nothing from a hostile source, and sends the token nowhere else", async () => {
    using folder = temporaryFolder();
    const other: (string | null)[] = [];
    const serveLocal = (fetch: (request: Request) => Response) =>
      Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
    using elsewhere = serveLocal(({ headers }) => {
      other.push(headers.get("authorization"));
      return new Response("");
    });
    const row = `{"cursor":"0123456789abcdef.1.a","id":"0x10","name":"a","createdAt":"2026-01-01","createdBy":"x"}\n`;
    const responses: Record<string, [() => Response, string]> = {
      redirect: [() => Response.redirect(`http://localhost:${elsewhere.port}/`, 307), "was 307"],
      "error without message": [() => Response.json(null, { status: 400 }), "was 400"],
      "long error": [() => new Response("x".repeat(100_000), { status: 400 }), "was 400"],
      compressed: [
        () => new Response(Bun.gzipSync(row), { headers: { "Content-Encoding": "gzip" } }),
        "compressed",
      ],
      "bad row": [() => new Response(row), "a row has no valid id"],
    };
    using source = serveLocal(({ url }) => {
      const name = decodeURIComponent(new URL(url).pathname.split("/")[1] ?? "");
      return responses[name]?.[0]() ?? new Response("");
    });
    const runs = Object.entries(responses).map(async ([name, [, reason]], index) => {
      const copy = join(folder.path, `copy-${index}.db`);
      const from = `http://127.0.0.1:${source.port}/${encodeURIComponent(name)}`;
      const { code, err } = await runInProcess(["follow", "--from", from, "--to", copy, "--once"], {
        environment,
      });
      expect([name, code, err]).toEqual([name, 1, expect.stringContaining(reason)]);
      expect(err).not.toContain("internal error");
      expect(storedPlants(copy)).toEqual([]);
    });
    await Promise.all(runs);
    expect(other).toEqual([]);
  }, 30_000);

  test("is equal at the end, even if either side is killed with -9 under load", async () => {
    const report = await followThroughKills({ rounds: 2, clients: 8, to: "file" });
    expect(report).toMatchObject({ missing: 0, different: 0, extra: 0 });
    expect(report.plants).toBeGreaterThan(10);
  }, 60_000);
});
