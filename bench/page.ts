import { readFileSync, writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { join } from "node:path";

const docs = join(import.meta.dir, "../docs");

/**
 * Replaces what stands between `<!-- NAME -->` and `<!-- /NAME -->` in a file of docs/, and says when and where it was measured.
 */
export function writeSection(page: string, name: string, text: string): void {
  editSection(page, name, () => `Measured on ${today()}, on ${machine()}.\n\n${text}`);
}

/** Replaces it by what `edit` makes of it. */
export function editSection(page: string, name: string, edit: (old: string) => string): void {
  const file = join(docs, page);
  writeFileSync(file, withSection(readFileSync(file, "utf8"), name, edit));
  console.error(`Written: docs/${page}, ${name}`);
}

function withSection(page: string, name: string, edit: (old: string) => string): string {
  const open = `<!-- ${name} -->`;
  const close = `<!-- /${name} -->`;
  const start = page.indexOf(open) + open.length;
  const end = page.indexOf(close);
  if (start < open.length || end < start) throw new Error(`The page has no section ${open} to ${close}.`);
  return `${page.slice(0, start)}\n${edit(page.slice(start, end)).trim()}\n${page.slice(end)}`;
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

export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** Where something was measured. */
export function machine(): string {
  const system = `${process.platform === "linux" ? "Linux" : process.platform} ${release()}`;
  return `${cpus().length} cores (${process.arch}), ${system}, Bun ${Bun.version}`;
}
