import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { post, startTestService, type TestService, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

describe("export", () => {
  const folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  const database = ["--database", file];
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({}, file);
    await post(service.url, '{"id":9007199254740993,"name":"Fern","tag":"indoor"}');
    await post(service.url, '{"id":2,"name":"Moss"}');
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("--output writes a file that only its owner reads, complete or not at all", async () => {
    const output = join(folder.path, "plants.ndjson");
    writeFileSync(output, "an earlier export");
    const { code, out, err } = await runInProcess(["export", "--output", output, ...database]);
    expect([code, out]).toEqual([0, ""]);
    expect(err).toMatch(/^Exported 2 plants to .*plants\.ndjson, \d+ bytes\.\n$/);
    expect(readFileSync(output, "utf8")).toBe((await runInProcess(["export", ...database])).out);
    expect(statSync(output).mode & 0o777).toBe(0o600);
    expect(existsSync(`${output}.partial`)).toBe(false);
  });

  test("--output that fails leaves the earlier file, and no partial one", async () => {
    const inner = join(folder.path, "out");
    const output = join(inner, "plants.csv");
    // A folder cannot be replaced by a file.
    mkdirSync(output, { recursive: true });
    const { code, err } = await runInProcess(["export", "--output", output, ...database]);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^plant-store: .*plants\.csv cannot be written: /),
    ]);
    expect(readdirSync(inner)).toEqual(["plants.csv"]);
    const missing = await runInProcess(["export", "--output", join(folder.path, "no", "x"), ...database]);
    expect(missing.err).toContain("cannot be written: no such file or directory");
  });

  test("--output that is stopped leaves the earlier file, and no partial one", async () => {
    const inner = join(folder.path, "stopped");
    const output = join(inner, "plants.csv");
    mkdirSync(inner);
    writeFileSync(output, "an earlier export");
    const stop = async () => "SIGINT";
    const { code, err } = await runInProcess(["export", "--output", output, ...database], {
      stopSignal: stop,
    });
    expect([code, err]).toEqual([130, `Interrupted. ${output} was not written.\n`]);
    expect(readdirSync(inner)).toEqual(["plants.csv"]);
    expect(readFileSync(output, "utf8")).toBe("an earlier export");
  });

  test("a JSON array is valid, even if it is empty, and import reads it back", async () => {
    const output = join(folder.path, "plants.json");
    await runInProcess(["export", "--output", output, "--tag", "indoor", ...database]);
    const text = readFileSync(output, "utf8");
    expect(text).toStartWith('[\n{"id":9007199254740993,"name":"Fern","tag":"indoor",');
    expect(JSON.parse(text)).toHaveLength(1);
    const both = await runInProcess(["export", "--format", "json", ...database]);
    expect(JSON.parse(both.out).map(({ name }: { name: string }) => name)).toEqual(["Fern", "Moss"]);
    const none = await runInProcess(["export", "--format", "json", "--tag", "none", ...database]);
    expect(JSON.parse(none.out)).toEqual([]);
    const read = await runInProcess(["import", output, "--dry-run", "--json"]);
    expect(JSON.parse(read.out)).toMatchObject({ valid: 1, refused: 0 });
  });

  test("the extension of --output chooses the format, unless --format does", async () => {
    const output = join(folder.path, "plants.csv");
    await runInProcess(["export", "--output", output, ...database]);
    expect(readFileSync(output, "utf8")).toStartWith("id,name,tag,");
    await runInProcess(["export", "--output", output, "--format", "csv-safe", ...database]);
    expect(readFileSync(output, "utf8")).toStartWith("id,safe_name,");
  });

  test("counts are in the singular for one plant", async () => {
    const output = join(folder.path, "one.ndjson");
    const { err } = await runInProcess(["export", "--output", output, "--tag", "indoor", ...database]);
    expect(err).toContain("Exported 1 plant to ");
  });
});
