export interface ReleaseState {
  readonly version: string;
  readonly clientVersion: string;
  readonly changelog: string;
  /** What `git status --porcelain` prints. */
  readonly status: string;
  readonly tagsOfHead: readonly string[];
}

const changedFilesMax = 10;

/** The changelog's section with that heading, or none if it is missing or empty. */
export function changelogSection(changelog: string, heading: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((text) => /^\[?([^\]\s]+)/.exec(text)?.[1] === heading);
  const body = found?.slice(found.indexOf("\n")).trim() ?? "";
  return body === "" ? undefined : `${body}\n`;
}

/** Why this commit cannot be released, one sentence per reason. If `isUntagged`, for a trial, version and tag may differ. */
export function releaseProblems(state: ReleaseState, isUntagged: boolean): string[] {
  const { version, clientVersion, changelog, status, tagsOfHead } = state;
  const problems: string[] = [];
  const changed = status.split("\n").filter((line) => line !== "");
  if (changed.length > 0) {
    const named = changed.slice(0, changedFilesMax).map((line) => line.slice(3));
    const more = changed.length > changedFilesMax ? ` and ${changed.length - changedFilesMax} more` : "";
    problems.push(`The working tree has changes that are not committed: ${named.join(", ")}${more}.`);
  }
  if (clientVersion !== version)
    problems.push(`package.json has version ${version}, packages/client/package.json ${clientVersion}.`);
  if (isUntagged) return problems;
  const versionTags = tagsOfHead.filter((tag) => /^v\d/.test(tag));
  if (!versionTags.includes(`v${version}`))
    problems.push(
      versionTags.length > 0
        ? `package.json has version ${version}, but the tag of this commit is ${versionTags.join(", ")}.`
        : `This commit has no tag v${version}. Tag it, or try the release with --untagged.`,
    );
  if (changelogSection(changelog, version) === undefined)
    problems.push(`CHANGELOG.md has no section "## ${version}", or it is empty.`);
  return problems;
}
