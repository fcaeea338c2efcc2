import { spawnSync } from "node:child_process";
import { cpSync, existsSync, rmSync, statSync } from "node:fs";
import { bareEnvironment, plantStore, shellArguments, start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { statusOf } from "../support/post-plants.ts";
import {
  allowOnly,
  backUp,
  check,
  expectOneOf,
  goOn,
  Life,
  mustSucceed,
  plantsIn,
  restore,
  sizes,
} from "./operator-life.ts";
import { type Figures, type Soak, type SoakRun, seededRandom } from "./rounds.ts";

const stepsPerLife = 60;
const oneFrameBytes = 32 + 24 + 4096;

export const operator: Soak = {
  summary:
    "a random sequence of operator commands, kills, hands in the files and full disks, against an oracle",
  unit: "rounds",
  rounds: 1000,
  run: async (run) => [await runSteps(run)],
};

/** What an operator does. It throws if a promise does not hold. */
type Step = (life: Life) => Promise<unknown>;

const steps: Readonly<Record<string, Step>> = {
  "serve, create": async (life) => {
    const refusal = await life.start();
    if (refusal !== undefined) await goOn(life, refusal);
    await life.create();
  },
  "create more": (life) => life.create(),
  stop: (life) => life.stop("SIGTERM"),
  "kill -9": (life) => life.stop("SIGKILL"),
  "kill -9 under load": async (life) => {
    const creating = life.create();
    await Bun.sleep(life.random() * 60);
    await life.stop("SIGKILL");
    await creating;
  },
  "backup FILE": (life) => backUp(life, life.newPath("backup.db")),
  "backup FOLDER --keep": (life) => backUpToFolder(life),
  "backup -": (life) => backUpToOutput(life),
  "restore to a new file": async (life) => {
    const backup = life.anyBackup();
    const drill = life.newPath("drill.db");
    await mustSucceed(life, plantStore(["restore", backup, "--database", drill]));
    expectOneOf(await plantsIn(drill), life.backups.get(backup) ?? [], `the restored ${backup}`);
    rmSync(drill);
  },
  "restore --replace": (life) => restore(life, life.anyBackup()),
  "an older backup, and the nights after it": async (life) => {
    await steps["serve, create"]?.(life);
    await backUpToFolder(life);
    await restore(life, life.anyBackup());
    for (let night = 1; night <= 3; night++) await backUpToFolder(life);
  },
  "restore --replace, killed": (life) => restore(life, life.anyBackup(), "killed"),
  "accept the file as it is": (life) => restore(life, life.file),
  "accept the file as it is, killed": (life) => restore(life, life.file, "killed"),
  verify: (life) => mustSucceed(life, life.command("verify")),
  list: (life) => mustSucceed(life, life.command("list", "--limit", "3")),
  doctor: (life) => life.command("doctor"),
  "token create and revoke": async (life) => {
    const name = `t-${life.newId()}`;
    await mustSucceed(life, life.command("token", "create", "--name", name));
    if (life.random() < 0.5) await mustSucceed(life, life.command("token", "revoke", name));
  },
  copy: async (life) => {
    const to = life.newPath("copied.db");
    await mustSucceed(life, plantStore(["copy", "--from", life.file, "--to", to]));
    if (existsSync(to)) expectOneOf(await plantsIn(to), life.possible, "the copy");
  },
  "two at once": async (life) => {
    const commands: readonly Step[] = [
      (one) => backUp(one, one.newPath("backup.db")),
      (one) => backUpToFolder(one),
      (one) => mustSucceed(one, one.command("verify")),
      (one) => mustSucceed(one, one.command("token", "create", "--name", `t-${one.newId()}`)),
      (one) => one.create(),
      (one) => restore(one, one.anyBackup(), "beside another"),
      async (one) => void (await one.start()),
    ];
    const before = new Set(life.backups.keys());
    await Promise.all([life.pick(commands)(life), life.pick(commands)(life)]);
    for (const [path, had] of life.backups) if (!before.has(path)) life.made(path, had);
  },
  "a full disk": async (life) => life.fillDisk(),
  "room on the disk": async (life) => life.freeDisk(),
  "hands in the files": (life) => handsInFiles(life),
};

async function runSteps({ rounds, random, tell }: SoakRun): Promise<Figures> {
  const violations: string[] = [];
  const names = Object.keys(steps);
  let [acknowledged, lost, step] = [0, 0, 0];
  while (step < rounds) {
    await using life = new Life();
    const past: string[] = [];
    try {
      life.random = seededRandom(random() * 2 ** 32);
      await steps["serve, create"]?.(life);
      await backUp(life, life.newPath("backup.db"));
      for (let own = 0; own < stepsPerLife && step < rounds; own++) {
        step++;
        // Of each step its own, so that the timing of one does not change the next.
        life.random = seededRandom(random() * 2 ** 32);
        // The service runs most of the time.
        const name = life.random() < 0.25 ? "serve, create" : life.pick(names);
        past.push(name);
        await steps[name]?.(life);
        await check(life);
      }
    } catch (error) {
      const kept = keepFiles(life);
      violations.push(
        `step ${step}, after ${past.slice(-6).join(", ")}: ${(error as Error).message} (${kept})`,
      );
      tell(violations.at(-1) ?? "");
    }
    acknowledged += life.acknowledged;
    lost += life.lost;
    tell(`step ${step} of ${rounds}: ${acknowledged} acknowledged, ${violations.length} violations`);
  }
  const figures = {
    what: "random operator commands",
    rounds,
    acknowledged,
    lost,
    note: `${violations.length} violations`,
  };
  return violations.length === 0 ? figures : { ...figures, failure: violations.join("\n") };
}

function keepFiles(life: Life): string {
  const kept = `/tmp/plant-store-violation-${Date.now()}`;
  cpSync(life.disk, kept, { recursive: true, filter: (path) => !path.endsWith("filler") });
  return kept;
}

async function backUpToFolder(life: Life): Promise<void> {
  const { possible } = life;
  const keep = ["--keep", String(Math.ceil(life.random() * 3))];
  const { code, out, err } = await life.command("backup", life.backupFolder, ...keep, "--json");
  if (out === "") return allowOnly(life, code, err);
  const { path, removed } = JSON.parse(out) as { path: string; removed: readonly string[] };
  for (const gone of removed) {
    if (sizes(life.backups.get(gone)).min > sizes([...possible, ...life.possible]).max)
      throw new Error(`${gone} had more plants, and is deleted`);
    life.backups.delete(gone);
  }
  life.made(path, possible);
}

async function backUpToOutput(life: Life): Promise<void> {
  const { possible } = life;
  const path = life.newPath("backup.db");
  const shell = shellArguments(`"$@" > ${path}`, ["backup", "-", "--database", life.file]);
  const { code, err } = await start("sh", shell, { environment: bareEnvironment }).ended;
  if (code === 0) life.made(path, possible);
  else allowOnly(life, code, err);
}

/** The rows of the soak `files`, at any moment, whether the service runs, was stopped or was killed. */
async function handsInFiles(life: Life): Promise<void> {
  const { file, service } = life;
  const backup = life.anyBackup();
  const script = life.pick([
    `cp ${backup} ${file}`,
    `cp ${backup} ${file}.new && mv ${file}.new ${file}`,
    `rm ${file}`,
    `rm -f ${file}-wal`,
    `rm -f ${file}-shm`,
    `truncate -s 0 ${file}`,
  ]);
  life.freeDisk();
  spawnSync("sh", ["-c", script]);
  if (service !== undefined) {
    const isReady = async () => (await statusOf(service.url, "/readyz").catch(() => 0)) === 200;
    await eventually(async () => !(await isReady()), `a running service to notice ${script}`);
    await life.stop(life.pick(["SIGTERM", "SIGKILL"]));
  }
  if (script.endsWith("-shm")) return;
  life.suspect = "hands";
  if (!script.startsWith("cp")) return;
  // It is the store from now on, once a WAL beside it is moved away; until then it must be refused.
  life.possible = life.backups.get(backup) ?? [];
  const walBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes > oneFrameBytes && (await life.command("export")).code === 0)
    throw new Error(`${script}: read beside the WAL of another file`);
}
