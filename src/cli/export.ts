import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { readConfig } from "../config/read-config.ts";
import { parseChoice } from "../config/values.ts";
import { exportFormatNames, exportFormats, formatRows } from "../files/export-formats.ts";
import { pagesOf } from "../plants/plant-archive.ts";
import { openArchive } from "../storage/open-store.ts";
import { parseFlag } from "./arguments.ts";
import type { Arguments, Command } from "./command.ts";
import { filterFlags, parseFilter } from "./list.ts";
import { writing } from "./local-files.ts";
import {
  formatBytes,
  formatCount,
  formatPlants,
  interruptedCode,
  showProgress,
  type Terminal,
} from "./terminal.ts";

const pageRows = 5000;
const fileMode = 0o600;
const extensions: Readonly<Record<string, (typeof exportFormatNames)[number]>> = { csv: "csv", json: "json" };

export const exportPlants: Command = {
  usage: "export",
  summary: "export plants, oldest first, in a format that import can read",
  examples: [
    "plant-store export > plants.ndjson",
    "plant-store export --format csv --tag indoor > indoor.csv",
    "plant-store export --output plants.json",
  ],
  flags: {
    format: {
      placeholder: "FORMAT",
      help: "ndjson, json, csv, or csv-safe for spreadsheets (ndjson, or by the extension of --output)",
    },
    output: { placeholder: "FILE", help: "write to this file, which appears only when it is complete" },
    ...filterFlags,
  },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const format = exportFormats[formatOf(args)];
    const filter = parseFilter(args);
    const path = args.value("output");
    await using opened = await openArchive(readConfig(args.sources));
    using file = path === undefined ? undefined : new OutputFile(path);
    const write = writerTo(file, terminal);
    let stopped: string | undefined;
    if (file !== undefined)
      void terminal.stopSignal().then((signal) => {
        stopped = signal;
      });
    const total = await opened.archive.total();
    let exported = 0;
    let searchedRows = 0;
    const startMs = performance.now();
    const line = () => {
      const perSecond = Math.round((exported * 1000) / (performance.now() - startMs));
      const percent = Math.floor((searchedRows * 100) / Math.max(total, 1));
      return `${formatPlants(exported)}  ${formatCount(perSecond)}/s  ${percent}% of the store`;
    };
    // If the rows go to the terminal, progress would be drawn between them.
    using progress = file === undefined && terminal.outIsTerminal ? undefined : showProgress(terminal, line);
    let isRead = await write(format.header);
    for await (const { plants, searched } of pagesOf(opened.archive, filter, pageRows)) {
      isRead = await write(formatRows(format, plants, exported === 0));
      if (!isRead) break;
      exported += plants.length;
      searchedRows += searched;
      // A signal is only handled between turns of the event loop, and reading a data file needs none.
      await setImmediate();
      if (stopped !== undefined) break;
    }
    if (stopped !== undefined && file !== undefined) {
      progress?.[Symbol.dispose]();
      terminal.err(`Interrupted. ${file.path} was not written.\n`);
      return interruptedCode(stopped);
    }
    if (isRead) await write(format.footer);
    file?.finish();
    progress?.[Symbol.dispose]();
    if (file !== undefined)
      terminal.note(`Exported ${formatPlants(exported)} to ${file.path}, ${formatBytes(file.bytes)}.\n`);
    return 0;
  },
};

function formatOf(args: Arguments): (typeof exportFormatNames)[number] {
  const chosen = parseFlag(args, "format", (text) => parseChoice(text, exportFormatNames));
  const extension = /\.(\w+)$/.exec(args.value("output") ?? "")?.[1]?.toLowerCase() ?? "";
  return chosen ?? (Object.hasOwn(extensions, extension) ? extensions[extension] : undefined) ?? "ndjson";
}

/** Resolves with false if the reader is gone. */
function writerTo(file: OutputFile | undefined, terminal: Terminal): (text: string) => Promise<boolean> {
  if (file === undefined) return async (text) => text === "" || terminal.outWithBackpressure(text);
  return async (text) => {
    file.write(text);
    return true;
  };
}

/** A file that appears under its name, replacing any other, only once it is complete and on disk. Each method may throw FileProblem. */
class OutputFile implements Disposable {
  readonly path: string;
  readonly #partial: string;
  readonly #file: number;
  #isOpen = true;
  bytes = 0;

  constructor(path: string) {
    this.path = path;
    this.#partial = `${path}.partial`;
    this.#file = writing(path, () => {
      // What an interrupted export left. A symbolic link is replaced, not followed.
      rmSync(this.#partial, { force: true });
      return openSync(this.#partial, "wx", fileMode);
    });
  }

  write(text: string): void {
    this.bytes += Buffer.byteLength(text);
    writing(this.path, () => writeFileSync(this.#file, text));
  }

  finish(): void {
    writing(this.path, () => fsyncSync(this.#file));
    this.#close();
    writing(this.path, () => renameSync(this.#partial, this.path));
  }

  /** Removes it unless it is finished. */
  [Symbol.dispose](): void {
    this.#close();
    rmSync(this.#partial, { force: true });
  }

  #close(): void {
    if (this.#isOpen) closeSync(this.#file);
    this.#isOpen = false;
  }
}
