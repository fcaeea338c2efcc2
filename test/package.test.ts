import { beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { temporaryFolder } from "./harness.ts";

// What npm would pack. `npm run test:package` installs it and runs it.
const root = join(import.meta.dir, "..");

function packedFiles(folder: string): string[] {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const packed = JSON.parse(spawnSync("npm", args, { cwd: folder, encoding: "utf8" }).stdout);
  const [{ files }] = Array.isArray(packed) ? packed : Object.values(packed);
  return files.map(({ path }: { path: string }) => path);
}

describe("the package of the service", () => {
  let files: string[] = [];
  beforeAll(() => {
    files = packedFiles(root);
  });

  test("has every file that a page in it links to", async () => {
    const folders = new Set(files.flatMap((path) => [`${dirname(path)}/`, dirname(path)]));
    const pages = files.filter((path) => path.endsWith(".md"));
    expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/operating.md"]));
    const links = /\]\((?!https?:|#|mailto:)([^)#]+)|(?:src|srcset|href)="(?!https?:|#)([^"#]+)"/g;
    const broken: string[] = [];
    for (const page of pages) {
      for (const [, inMarkdown, inHtml] of (await Bun.file(join(root, page)).text()).matchAll(links)) {
        const target = normalize(join(dirname(page), inMarkdown ?? inHtml ?? ""));
        if (!files.includes(target) && !folders.has(target)) broken.push(`${page} → ${target}`);
      }
    }
    expect(broken).toEqual([]);
  });

  test("has no tests, no data and nothing that was built but the client", () => {
    expect(files.filter((path) => /\.test\.ts$|^test\/|^data\/|\.db/.test(path))).toEqual([]);
    const built = files.filter((path) => /(?:^|\/)dist\//.test(path));
    expect(built.filter((path) => !/^packages\/client\/dist\/|^dist\/sbom\.cdx\.json$/.test(path))).toEqual(
      [],
    );
  });

  test("leaves out executables, and secrets that someone put beside the deploy files", () => {
    using folder = temporaryFolder();
    for (const name of ["package.json", ".gitignore", "deploy"])
      cpSync(join(root, name), join(folder.path, name), { recursive: true });
    for (const path of ["deploy/secrets/access-token", "dist/plant-store", "docs/kept.md"]) {
      mkdirSync(join(folder.path, dirname(path)), { recursive: true });
      writeFileSync(join(folder.path, path), "x");
    }
    const names = packedFiles(folder.path);
    expect(names).toEqual(expect.arrayContaining(["deploy/compose.yaml", "docs/kept.md"]));
    expect(names.filter((path) => /secrets|dist\/plant-store/.test(path))).toEqual([]);
  });
});

// An image that was built from a context without a folder that it copies fails late, and elsewhere.
test("the context of the image has what the Dockerfile copies, and no secret or data", async () => {
  const lines = (await Bun.file(join(root, ".dockerignore")).text()).split("\n");
  const admitted = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  const dockerfile = await Bun.file(join(root, "deploy/Dockerfile")).text();
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = ""]) =>
    list.split(" "),
  );
  expect(lines).toContain("*");
  expect(copied.sort()).toEqual(admitted.sort());
});
