import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changelogSection, releaseProblems } from "../scripts/release-notes.ts";
import { temporaryFolder } from "./harness.ts";

const root = join(import.meta.dir, "..");
const changelog = [
  "# Changelog\n\nWhat changed.\n",
  "## Unreleased\n",
  "## 0.2.0 - 2026-12-01\n\n### Added\n\n- Moss.\n",
  "## [0.1.0]\n\n- Fern.\n",
].join("\n");
const state = {
  version: "0.2.0",
  clientVersion: "0.2.0",
  changelog,
  status: "",
  tagsOfHead: ["v0.2.0", "nightly"],
};

test("the notes are the changelog's section of that version", () => {
  expect(changelogSection(changelog, "0.2.0")).toBe("### Added\n\n- Moss.\n");
  expect(changelogSection(changelog, "0.1.0")).toBe("- Fern.\n");
  expect(changelogSection(changelog, "Unreleased")).toBeUndefined();
  expect(changelogSection(changelog, "0.2")).toBeUndefined();
  const own = changelogSection(readFileSync(join(root, "CHANGELOG.md"), "utf8"), "Unreleased");
  expect(own).toStartWith("### Added\n\n- `POST /plants` stores");
});

test("a release needs one version in tag, packages and changelog, and a clean tree", () => {
  expect(releaseProblems(state, false)).toEqual([]);
  const problems = (changes: Partial<typeof state>) =>
    releaseProblems({ ...state, ...changes }, false).join("\n");
  expect(problems({ tagsOfHead: [""] })).toStartWith("This commit has no tag v0.2.0.");
  expect(problems({ tagsOfHead: ["v0.1.9"] })).toBe(
    "package.json has version 0.2.0, but the tag of this commit is v0.1.9.",
  );
  expect(problems({ clientVersion: "0.1.0" })).toContain("packages/client/package.json 0.1.0");
  expect(problems({ changelog: "## Unreleased\n\n- Moss.\n" })).toContain('no section "## 0.2.0"');
  const status = Array.from({ length: 12 }, (_, n) => `?? file-${n}\n`).join("");
  expect(problems({ status })).toContain("file-0, file-1, ");
  expect(problems({ status })).toEndWith("file-9 and 2 more.");
});

test("to try it, tag and changelog are not needed, but a clean tree is", () => {
  const early = { ...state, tagsOfHead: [], changelog: "" };
  expect(releaseProblems(early, true)).toEqual([]);
  expect(releaseProblems({ ...early, status: " M src/main.ts\n" }, true)).toEqual([
    "The working tree has changes that are not committed: src/main.ts.",
  ]);
});

test("the command refuses before it builds anything, and says why", () => {
  using folder = temporaryFolder();
  const write = (path: string, text: string) => writeFileSync(join(folder.path, path), text);
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: folder.path, encoding: "utf8" });
  const git = (...args: string[]) =>
    expect(run("git", "-c", "user.name=t", "-c", "user.email=t@example.org", ...args).status).toBe(0);
  const release = (...flags: string[]) => {
    const { status, stdout, stderr } = run(process.execPath, join(root, "scripts/release.ts"), ...flags);
    return [status, stdout, stderr];
  };
  mkdirSync(join(folder.path, "packages/client"), { recursive: true });
  for (const path of ["package.json", "packages/client/package.json"]) write(path, '{"version":"0.2.0"}');
  write("CHANGELOG.md", changelog);
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "-m", "x");
  expect(release("--skip-check")).toEqual([
    2,
    "",
    "Unknown: --skip-check. The flags are --skip-checks and --untagged.\n",
  ]);
  expect(release("--skip-checks")).toEqual([
    1,
    "",
    expect.stringMatching(/^This commit has no tag v0\.2\.0\..*\n$/),
  ]);
  git("tag", "v0.2.0");
  write("notes", "x");
  expect(release()).toEqual([1, "", "The working tree has changes that are not committed: notes.\n"]);
});
