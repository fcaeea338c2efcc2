import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { start } from "./command.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { accessToken } from "./tokens.ts";

/** The languages of the samples on the docs page, and the program that runs each. */
export const programs = { curl: "sh", javascript: "node", python: "python3", go: "go" };
export type Language = keyof typeof programs;

// What shows the body that a sample of "Ids beyond 2^53" makes.
const printed: Record<Language, (sample: string) => string> = {
  curl: (sample) => `${sample}\nprintf %s "$body"`,
  javascript: (sample) => `${sample}\nconsole.log(body);`,
  python: (sample) => `${sample}\nprint(body)`,
  go: (sample) =>
    `package main\nimport ("encoding/json"; "fmt")\nfunc main() {\n${sample}\nfmt.Println(string(body), err)\n}`,
};

/** Every character that one of the languages, JSON or HTML reads as more than itself, and some that nobody sees. */
export const hostileName = 'It\'s "$HOME" \\n \\ %s </pre> & {{url}} $1 🌱 `id` \u202e\ufeff\u2028 \u007f';

/** The sample in that language in a group of samples, as the page of the docs has it without its script. */
export function sampleOf(html: string, group: "create" | "large", language: Language): string {
  const samples = html.slice(html.indexOf(`id="${group}-samples"`));
  const [, markup = ""] =
    new RegExp(`class="sample ${language}">.*?<pre>(.*?)</pre>`, "s").exec(samples) ?? [];
  return textOfMarkup(markup);
}

export function textOfMarkup(markup: string): string {
  return markup
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** Runs the request in a sample with a valid token, and returns the body of the response. */
export async function runRequest(language: Language, sample: string): Promise<string> {
  const source = sample.replace("<ACCESS_TOKEN>", accessToken);
  const printed = await run(language, source.replace(/^curl /, "curl -s "));
  // curl prints the body alone, the others its status too.
  return language === "curl" ? printed : printed.replace(/^200 /, "");
}

/** The JSON that a sample of "Ids beyond 2^53" makes. */
export async function bodyOf(language: Language, sample: string): Promise<string> {
  return run(language, printed[language](sample));
}

/** What "Try it" shows in that language for this plant. */
export async function tryItSample(page: Page, language: Language, id: string, name: string) {
  await page.getByLabel("Access token").fill(accessToken);
  await page.getByLabel("id", { exact: true }).fill(id);
  await page.getByLabel("name", { exact: true }).fill(name);
  return (await page.locator(`#try-samples .${language} pre`).textContent()) ?? "";
}

async function run(language: Language, source: string): Promise<string> {
  using folder = temporaryFolder();
  const file = join(folder.path, "sample.go");
  writeFileSync(file, source);
  const args = {
    curl: ["-c", source],
    javascript: ["--input-type=module", "-e", source],
    python: ["-c", source],
    go: ["run", file],
  };
  // Nothing next to the sources, and no traffic except to loopback.
  const environment = { GOTMPDIR: folder.path, GOPROXY: "off" };
  const { code, out, err } = await start(programs[language], args[language], {
    folder: folder.path,
    environment,
  }).ended;
  if (code !== 0) throw new Error(`The sample in ${language} failed: ${err}`);
  return out.trim();
}
