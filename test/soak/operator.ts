import { spawnSync } from "node:child_process";
import { cpSync, existsSync, rmSync, statSync } from "node:fs";
import { bareEnvironment, plantStore, shellArguments, start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { statusOf } from "../support/post-plants.ts";
import { Life } from "./operator-life.ts";
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

const serveAndCreate: Step = async (life) => {
  const refusal = await life.start();
  if (refusal !== undefined) await life.goOn(refusal);
  await life.create();
};

const createToken: Step = (life) => life.succeed("token", "create", "--name", `t-${life.newId()}`);

const steps: Readonly<Record<string, Step>> = {
  "serve, create": serveAndCreate,
  "create more": (life) => life.create(),
  stop: (life) => life.stop("SIGTERM"),
  "kill -9": (life) => life.stop("SIGKILL"),
  "kill -9 under load": async (life) => {
    const creating = life.create();
    await Bun.sleep(life.random() * 60);
    await life.stop("SIGKILL");
    await creating;
  },
  "backup FILE": (life) => life.backUp(),
  "backup FOLDER --keep": backUpToFolder,
  "backup -": backUpToOutput,
  "restore to a new file": async (life) => {
    const backup = life.anyBackup();
    const drill = life.newPath("drill.db");
    life.allow(await plantStore(["restore", backup, "--database", drill]));
    await life.expectIn(drill, life.backups.get(backup));
    rmSync(drill);
  },
  "restore --replace": (life) => life.restore(life.anyBackup()),
  "an older backup, and the nights after it": async (life) => {
    await serveAndCreate(life);
    await backUpToFolder(life);
    await life.restore(life.anyBackup());
    for (let night = 1; night <= 3; night++) await backUpToFolder(life);
  },
  "restore --replace, killed": (life) => life.restore(life.anyBackup(), "killed"),
  "accept the file as it is": (life) => life.restore(life.file),
  "accept the file as it is, killed": (life) => life.restore(life.file, "killed"),
  verify: (life) => life.succeed("verify"),
  list: (life) => life.succeed("list", "--limit", "3"),
  doctor: (life) => life.command("doctor"),
  "token create and revoke": async (life) => {
    const name = `t-${life.newId()}`;
    await life.succeed("token", "create", "--name", name);
    if (life.random() < 0.5) await life.succeed("token", "revoke", name);
  },
  copy: async (life) => {
    const to = life.newPath("copied.db");
    life.allow(await plantStore(["copy", "--from", life.file, "--to", to]));
    if (existsSync(to)) await life.expectIn(to, life.possible);
  },
  "two at once": async (life) => {
    const commands = [
      (one: Life) => one.backUp(),
      backUpToFolder,
      (one: Life) => one.succeed("verify"),
      createToken,
      (one: Life) => one.create(),
      (one: Life) => one.restore(one.anyBackup(), "beside another"),
      (one: Life) => one.start(),
    ];
    const before = new Set(life.backups.keys());
    await Promise.all([life.pick<Step>(commands)(life), life.pick<Step>(commands)(life)]);
    for (const [path, had] of life.backups) if (!before.has(path)) life.made(path, had);
  },
  "a full disk": async (life) => life.fillDisk(),
  "room on the disk": async (life) => life.freeDisk(),
  "hands in the files": handsInFiles,
};

async function runSteps({ rounds, random, tell }: SoakRun): Promise<Figures> {
  const violations: string[] = [];
  let [acknowledged, lost, step] = [0, 0, 0];
  while (step < rounds) {
    await using life = new Life();
    const past: string[] = [];
    try {
      life.random = seededRandom(random() * 2 ** 32);
      await serveAndCreate(life);
      await life.backUp();
      for (let own = 0; own < stepsPerLife && step < rounds; own++) {
        step++;
        // Of each step its own, so that the timing of one does not change the next.
        life.random = seededRandom(random() * 2 ** 32);
        // The service runs most of the time.
        const name = life.random() < 0.25 ? "serve, create" : life.pick(Object.keys(steps));
        past.push(name);
        await steps[name]?.(life);
        await life.check();
      }
    } catch (error) {
      const kept = `/tmp/plant-store-violation-${Date.now()}`;
      cpSync(life.disk, kept, { recursive: true, filter: (path) => !path.endsWith("filler") });
      const after = past.slice(-6).join(", ");
      violations.push(`step ${step}, after ${after}: ${(error as Error).message} (${kept})`);
      tell(violations.at(-1) ?? "");
    }
    acknowledged += life.acknowledged;
    lost += life.lost;
    tell(`step ${step} of ${rounds}: ${acknowledged} acknowledged, ${violations.length} violations`);
  }
  const note = `${violations.length} violations`;
  const figures = { what: "random operator commands", rounds, acknowledged, lost, note };
  return violations.length === 0 ? figures : { ...figures, failure: violations.join("\n") };
}

async function backUpToFolder(life: Life): Promise<void> {
  const { possible } = life;
  const keep = String(Math.ceil(life.random() * 3));
  const finished = await life.command("backup", life.backupFolder, "--keep", keep, "--json");
  if (finished.out === "") return void life.allow(finished);
  const { path, removed } = JSON.parse(finished.out) as { path: string; removed: readonly string[] };
  const most = Math.max(...[...possible, ...life.possible].map(({ size }) => size));
  for (const gone of removed) {
    if ((life.backups.get(gone) ?? []).every(({ size }) => size > most))
      throw new Error(`${gone} had more plants, and is deleted`);
    life.backups.delete(gone);
  }
  life.made(path, possible);
}

async function backUpToOutput(life: Life): Promise<void> {
  const { possible } = life;
  const path = life.newPath("backup.db");
  const shell = shellArguments(`"$@" > ${path}`, ["backup", "-", "--database", life.file]);
  const { code } = life.allow(await start("sh", shell, { environment: bareEnvironment }).ended);
  if (code === 0) life.made(path, possible);
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
