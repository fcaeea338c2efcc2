import { existsSync, realpathSync } from "node:fs";
import { readConfig } from "../config/read-config.ts";
import { type CopyCounts, compareStores, copyStore } from "../storage/copy-store.ts";
import { openArchive, openStore } from "../storage/open-store.ts";
import type { Command } from "./command.ts";
import { sources } from "./flags.ts";
import { grouped, showLine } from "./progress-line.ts";
import { Misuse, visible } from "./terminal.ts";

export const copy: Command = {
  usage: "copy --from DATABASE --to DATABASE",
  summary: "copy a store into another, of either engine; running it again resumes",
  examples: [
    "plant-store copy --from data/plant-store.db --to postgres://plants@db.example.org/plants",
    "plant-store copy --from postgres://plants@db.example.org/plants --to plants.db",
  ],
  flags: {
    from: {
      placeholder: "DATABASE",
      help: "a data file or postgres://…; best with no service on it (required)",
    },
    to: { placeholder: "DATABASE", help: "the same, made where there is none (required)" },
    json: { placeholder: undefined, help: "print JSON" },
  },
  settings: ["allowUnsafeDatabase"],
  async run(args, terminal) {
    const [fromName, toName] = [args.value("from"), args.value("to")];
    if (args.words.length > 0 || fromName === undefined || toName === undefined)
      throw new Misuse("copy needs --from DATABASE and --to DATABASE");
    if (samePlace(fromName, toName)) throw new Misuse("--from and --to are the same");
    const setting = (database: string) => {
      const around = sources(args, terminal);
      return readConfig({ ...around, flags: { ...around.flags, database } });
    };
    await using source = await openArchive(setting(fromName));
    await using target = await openStore(setting(toName));
    const total = await source.archive.total();
    const counts: CopyCounts = { created: 0, replayed: 0, failed: 0, compared: 0, tokens: 0, problems: [] };
    const failed = new Set<bigint>();
    const startMs = performance.now();
    const line = showLine(terminal, () => {
      const copied = counts.created + counts.replayed;
      const [done, word] = counts.compared > 0 ? [counts.compared, "compared"] : [copied, "copied"];
      const share = Math.floor((done * 100) / Math.max(total, 1));
      return `${share}%  ${grouped(done)} of ${grouped(total)} ${word}  ${Math.floor((performance.now() - startMs) / 1000)} s`;
    });
    try {
      await copyStore(source, target, counts, (id, reason) => {
        failed.add(id);
        terminal.err(`the plant with the id ${id} cannot be stored: ${visible(reason)}\n`);
      });
      await compareStores(source, target.archive, counts, failed);
    } finally {
      line[Symbol.dispose]();
    }
    if (args.has("json")) terminal.out(`${JSON.stringify(counts, null, 2)}\n`);
    for (const problem of counts.problems) terminal.err(`${visible(problem)}\n`);
    const { created, replayed, tokens, compared, problems } = counts;
    const allSame = problems.length === 0 && failed.size === 0;
    terminal.err(
      `${grouped(created)} plants copied, ${grouped(replayed)} were there already, ` +
        `${failed.size === 0 ? "" : `${grouped(failed.size)} cannot be stored, `}${grouped(tokens)} tokens copied; ` +
        `${grouped(compared)} compared, ${allSame ? "all the same" : "not all the same"}.\n`,
    );
    return allSame ? 0 : 1;
  },
};

function samePlace(one: string, other: string): boolean {
  return one === other || (existsSync(one) && existsSync(other) && realpathSync(one) === realpathSync(other));
}
