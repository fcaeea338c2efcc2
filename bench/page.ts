import { readFileSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { join } from "node:path";

const docs = join(import.meta.dir, "../docs");

/** Replaces what stands between `<!-- NAME -->` and `<!-- /NAME -->` on a page of docs/, and says when and where it was measured. */
export function writeSection(page: string, name: string, text: string, folder = docs): void {
  const file = join(folder, page);
  writeFileSync(file, withSection(readFileSync(file, "utf8"), name, `Measured ${machine()}.\n\n${text}`));
  console.error(`Written: docs/${page}, ${name}, as measured ${machine()}`);
}

export function withSection(page: string, name: string, text: string): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [start, end] = [page.indexOf(open), page.indexOf(close)];
  if (start < 0 || end < start) throw new Error(`The page has no section ${open} to ${close}.`);
  return `${page.slice(0, start + open.length)}\n${text.trim()}\n${page.slice(end)}`;
}

export function writeChart(name: string, svg: string): void {
  writeFileSync(join(docs, "benchmarks", name), svg);
}

/** A table in Markdown. Columns whose title starts with `#` are numbers. */
export function table(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const titles = columns.map((column) => column.replace(/^#/, ""));
  const rule = columns.map((column) => (column.startsWith("#") ? "---:" : "---"));
  return [titles, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** When and where something was measured. */
function machine(): string {
  const date = new Date().toISOString().slice(0, 10);
  const system = `${process.platform === "linux" ? "Linux" : process.platform} ${release()}`;
  return `on ${date}, on ${cpus().length} cores (${process.arch}), ${system}, Bun ${Bun.version}`;
}
