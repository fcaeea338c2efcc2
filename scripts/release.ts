// npm run release [-- --skip-checks] [--untagged]: clones the commit, checks it, and puts into dist/ both executables, both
// packages, bills of materials, checksums and release notes. --untagged tries it before the version is tagged.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { sha256, writeChecksums } from "./checksums.ts";
import { fail, outputOf } from "./processes.js";
import { changelogSection, releaseProblems } from "./release-notes.ts";
import { replaceFolder } from "./replace-folder.ts";

const known = ["--skip-checks", "--untagged"];
const flags = process.argv.slice(2);
const unknown = flags.filter((flag) => !known.includes(flag));
if (unknown.length > 0) fail(`Unknown: ${unknown.join(" ")}. The flags are ${known.join(" and ")}.`, 2);
const isUntagged = flags.includes("--untagged");

const [commit = "", committedAt] = outputOf("git", ["log", "-1", "--format=%H %ct"]).trim().split(" ");
const { version } = readJson("package.json");
const changelog = readFileSync("CHANGELOG.md", "utf8");
const problems = releaseProblems(
  {
    version,
    clientVersion: readJson("packages/client/package.json").version,
    changelog,
    status: outputOf("git", ["status", "--porcelain"]),
    tagsOfHead: outputOf("git", ["tag", "--points-at", "HEAD"]).split("\n"),
  },
  isUntagged,
);
if (problems.length > 0) fail(problems.join("\n"));

// A clone has only what is committed: no ignored file can become part of a release.
const clone = mkdtempSync(join(tmpdir(), "plant-store-release-"));
process.on("exit", () => rmSync(clone, { recursive: true, force: true }));
// Ctrl-C ends the current command too, whose failure then ends this process: the clone of a gigabyte is removed.
process.on("SIGINT", () => {});
run(".", "git", "clone", "--quiet", "--no-hardlinks", resolve("."), clone);
run(clone, "git", "checkout", "--quiet", commit);
run(clone, "npm", "ci", "--ignore-scripts");
if (!flags.includes("--skip-checks"))
  for (const script of ["test", "test:slow"]) run(clone, "npm", "run", script);

const dist = join(clone, "dist");
rmSync(dist, { recursive: true, force: true });
run(clone, "npm", "run", "build", "--", "all");
const executables = readdirSync(dist).filter((file) => /^plant-store-.*(?<!\.json|\.txt)$/.test(file));
// Of the executables themselves, so that anyone can compare the installed one with a build of their own: SECURITY.md.
const executableSums = executables
  .map((name) => `${sha256(join(dist, name))}  ${name}/plant-store\n`)
  .join("");
for (const name of executables) archive(name);
for (const folder of [".", "./packages/client"])
  run(clone, "npm", "pack", "--silent", "--pack-destination", dist, folder);
renameSync(join(dist, "sbom.cdx.json"), join(dist, `plant-store-${version}.cdx.json`));
const notes = changelogSection(changelog, version) ?? changelogSection(changelog, "Unreleased") ?? "";
writeFileSync(
  join(dist, "release-notes.md"),
  `${notes}\nSHA-256 of the executables in the archives:\n\n\`\`\`text\n${executableSums}\`\`\`\n`,
);
writeChecksums(dist);

replaceFolder("dist", dist);
console.log(`dist/ has plant-store ${version}:\n${readFileSync("dist/SHA256SUMS", "utf8")}`);

/**
 * NAME.tar.gz with the folder NAME: in place of the executable, `plant-store` with all licences, the documents and the files to
 * deploy it, so that docs/install.md needs nothing else. The same commit makes the same bytes.
 */
function archive(name: string): void {
  const folder = join(dist, `${name}.folder`);
  mkdirSync(folder);
  const documents = readdirSync(clone).filter((file) => file === "LICENSE" || file.endsWith(".md"));
  for (const file of [...documents, "deploy", "docs", "packages/client/README.md"])
    cpSync(join(clone, file), join(folder, file), { recursive: true });
  // It needs a clone.
  rmSync(join(folder, "deploy/Dockerfile"));
  renameSync(join(dist, name), join(folder, "plant-store"));
  renameSync(join(dist, `${name}.licences.txt`), join(folder, "THIRD-PARTY-LICENCES.txt"));
  renameSync(folder, join(dist, name));
  const entries = [
    "--sort=name",
    `--mtime=@${committedAt}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u=rwX,go=rX",
    "-C",
    dist,
    name,
  ];
  run(clone, "tar", "--use-compress-program=gzip -n", "-cf", join(dist, `${name}.tar.gz`), ...entries);
  rmSync(join(dist, name), { recursive: true });
}

function run(folder: string, command: string, ...args: readonly string[]): void {
  const { status } = spawnSync(command, args, { cwd: folder, stdio: "inherit" });
  if (status !== 0) fail(`${command} ${args.join(" ")} failed; dist/ is unchanged.`);
}

function readJson(path: string): { readonly version: string } {
  return JSON.parse(readFileSync(path, "utf8"));
}
