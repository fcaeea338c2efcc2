// npm run soak:kill -- 200     kills a loaded service 200 times and compares the acknowledged plants with the data file
import { runKillRounds } from "./kill-rounds.ts";

const rounds = Number(process.argv[2] ?? 100);
const report = await runKillRounds(rounds, console.error);
console.log(
  `${rounds} kills, ${report.acknowledged} acknowledged, ${report.stored} stored, ${report.missing.length} missing, ${report.different.length} different`,
);
process.exitCode = report.missing.length + report.different.length === 0 ? 0 : 1;
