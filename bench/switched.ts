import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A text in a file under src/, and its replacement in the copy. `isOn()` says whether the switch is on. */
export type Edit = readonly [file: string, text: string, replacement: string];

// Every clock read and every count that is only for the metrics.
export const metricsSwitch: readonly Edit[] = [
  ["http/exchange.ts", "this.#listener.onResponse?.(", "if (isOn()) this.#listener.onResponse?.("],
  ["http/exchange.ts", "startedMs = performance.now();", "startedMs = isOn() ? performance.now() : 0;"],
  [
    "telemetry/counters.ts",
    "observe(value: number): void {",
    "observe(value: number): void {\n    if (!isOn()) return;",
  ],
  [
    "telemetry/counters.ts",
    "add(name: string, count = 1): void {",
    "add(name: string, count = 1): void {\n    if (!isOn()) return;",
  ],
  [
    "telemetry/counters.ts",
    "set(name: string, value: number): void {",
    "set(name: string, value: number): void {\n    if (!isOn()) return;",
  ],
];

const root = join(import.meta.dir, "..");

/**
 * Copies the source into the folder, with a switch that another process sets: a file whose one byte is 1 or 0, mapped into memory,
 * so that reading it costs a nanosecond. Returns the file and the copy.
 */
export function writeSwitchedCopy(
  folder: string,
  edits: readonly Edit[],
): { readonly switchFile: string; readonly checkout: string } {
  const checkout = mkdtempSync(join(folder, "switched-"));
  const switchFile = join(checkout, "switch");
  writeFileSync(switchFile, Uint8Array.of(1));
  for (const path of ["src", "package.json"])
    cpSync(join(root, path), join(checkout, path), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"));
  const switchModule = join(checkout, "switch.ts");
  writeFileSync(
    switchModule,
    `const byte = Bun.mmap(${JSON.stringify(switchFile)});\nexport const isOn = () => byte[0] === 1;\n`,
  );
  for (const [file, text, replacement] of edits) {
    const path = join(checkout, "src", file);
    const source = readFileSync(path, "utf8");
    if (!source.includes(text)) throw new Error(`src/${file} no longer has "${text}"; adapt the benchmark`);
    const switched = source.replace(text, replacement);
    const isImported = switched.includes(switchModule);
    writeFileSync(path, isImported ? switched : `import { isOn } from "${switchModule}";\n${switched}`);
  }
  return { switchFile, checkout };
}
