import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { changelogSection, releaseProblems } from "../scripts/release-notes.ts";

const changelog =
  "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n- Moss.\n\n## [0.1.0]\n\n- Fern.\n";
const ready = {
  version: "0.2.0",
  clientVersion: "0.2.0",
  changelog,
  status: "",
  tagsOfHead: ["v0.2.0", "nightly"],
};

test("the notes are the changelog's section of that version", () => {
  const sections = ["0.2.0", "0.1.0", "Unreleased", "0.2"].map((name) => changelogSection(changelog, name));
  expect(sections).toEqual(["- Moss.\n", "- Fern.\n", undefined, undefined]);
  const own = readFileSync(join(import.meta.dir, "../CHANGELOG.md"), "utf8");
  expect(changelogSection(own, "Unreleased")).toContain("- `POST /plants` stores a plant");
});

test.each([
  [{}, ""],
  [{ tagsOfHead: [""] }, "This commit has no tag v0.2.0."],
  [{ tagsOfHead: ["v0.1.9"] }, "package.json has version 0.2.0, but the tag of this commit is v0.1.9."],
  [{ clientVersion: "0.1.0" }, "packages/client/package.json 0.1.0"],
  [{ changelog: "## Unreleased\n\n- Moss.\n" }, 'no section "## 0.2.0"'],
  [{ status: " M a\n?? b\n" }, "The working tree has changes that are not committed: a, b."],
])("a release with %j says %j", (changes, problem) => {
  const problems = releaseProblems({ ...ready, ...changes }, false).join("\n");
  if (problem === "") expect(problems).toBe("");
  else expect(problems).toContain(problem);
  // To try it, only a clean tree is needed.
  const early = releaseProblems({ ...ready, ...changes, tagsOfHead: [], changelog: "" }, true);
  expect(early.length > 0).toBe("status" in changes || "clientVersion" in changes);
});
