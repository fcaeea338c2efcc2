// npm run bench:filters [-- MILLIONS]
// How long `list` and `export` take with every pair of filters, on a store of that many million plants of mixed names (one by
// default), compared with either filter alone. Entire commands, the three of a round one after the other, so that a slow minute
// of the machine affects all. Fails if a pair takes over three times as long as the slower of its parts.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { seedStore } from "../test/seeded-store.ts";
import { median, temporaryFolder } from "./servers.ts";

const ratioMax = 3;
const millions = Number(process.argv[2] ?? 1);
const [fromMs, untilMs] = [Date.UTC(2026, 0), Date.UTC(2026, 10)];
const at = (part: number) => new Date(fromMs + (untilMs - fromMs) * part).toISOString();

const filters: readonly (readonly [name: string, flag: string, value: string])[] = [
  ["name, common", "--name", "rosa"],
  ["name, rare", "--name", "Viola vulgaris"],
  ["name, none", "--name", "no such name"],
  ["tag, common", "--tag", "perennial"],
  ["tag, rare", "--tag", "moss"],
  ["sender, common", "--token", "nursery"],
  ["sender, none", "--token", "nobody"],
  ["since", "--since", at(0.7)],
  ["until", "--until", at(0.3)],
];
// An export takes so much longer that one round is enough.
const commands: readonly (readonly [command: readonly string[], rounds: number])[] = [
  [["list"], 3],
  [["list", "--limit", "1000"], 3],
  [["export"], 1],
];

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const folder = temporaryFolder();
const file = join(folder, "plants.db");
await seedStore(file, { plants: millions * 1_000_000, fromMs, untilMs });
let tooSlow = 0;
for (const [command, rounds] of commands) {
  console.log(`\n${command.join(" ")}${" ".repeat(44 - command.join(" ").length)}pair    parts alone (ms)`);
  for (const [index, one] of filters.entries()) {
    for (const other of filters.slice(index + 1)) {
      if (one[1] === other[1]) continue;
      const times = Array.from({ length: rounds }, () => [
        measure(command, one),
        measure(command, other),
        measure(command, one, other),
      ]);
      const [first = 0, second = 0, both = 0] = [0, 1, 2].map((of) =>
        median(times.map((round) => round[of] ?? 0)),
      );
      const ratio = both / Math.max(first, second);
      if (ratio > ratioMax) tooSlow++;
      const shown = [both, first, second].map((ms) => ms.toFixed(0).padStart(8)).join("");
      console.log(`${`${one[0]} + ${other[0]}`.padEnd(40)}${shown}   ${ratio.toFixed(1)}`);
    }
  }
}
rmSync(folder, { recursive: true, force: true });
if (tooSlow > 0) process.exitCode = 1;

function measure(command: readonly string[], ...chosen: readonly (typeof filters)[number][]): number {
  const flags = chosen.flatMap(([, flag, value]) => [flag, value]);
  const startMs = performance.now();
  const { status } = spawnSync(process.execPath, [main, ...command, ...flags, "--database", file], {
    stdio: "ignore",
    env: { PATH: process.env["PATH"] ?? "" },
  });
  if (status !== 0) throw new Error(`${command.join(" ")} ${flags.join(" ")} ended with ${status}`);
  return performance.now() - startMs;
}
