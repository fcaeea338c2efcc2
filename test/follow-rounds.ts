import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Serving, serve, startPlantStore } from "./command.ts";
import { accessToken, eventually, operatorToken, storedPlants, temporaryFolder } from "./harness.ts";
import { startTcpProxy } from "./tcp-proxy.ts";

export interface FollowRounds {
  /** Each kills the follower and the source once, and a service that is the target. */
  readonly rounds: number;
  readonly clients: number;
  readonly to: "file" | "folder" | "service";
  readonly tell?: (line: string) => void;
}

export interface FollowReport {
  readonly plants: number;
  readonly missing: number;
  readonly different: number;
  readonly extra: number;
}

export const bothTokens = {
  PLANT_STORE_ACCESS_TOKEN: accessToken,
  PLANT_STORE_OPERATOR_TOKEN: operatorToken,
};

/** Loads a service that is followed, kills either side with -9 at random points, and compares the plants at the end. */
export async function followThroughKills(options: FollowRounds): Promise<FollowReport> {
  using folder = temporaryFolder();
  const database = join(folder.path, "source.db");
  const start = () => serve(["--database", database], { environment: bothTokens });
  let source = await start();
  using proxy = await startTcpProxy(() => Number(new URL(source.operatorUrl).port));
  await using target = await openTarget(folder.path, options.to);
  const args = ["follow", "--from", `http://127.0.0.1:${proxy.port}`, ...target.args];
  const begin = () => startPlantStore(args, { environment: bothTokens });
  let follower = begin();
  const load = startLoad(() => source.url, options.clients);
  for (let round = 1; round <= options.rounds; round++) {
    for (const side of ["follower", "source"] as const) {
      const before = load.acknowledged;
      await Bun.sleep(50 + Math.random() * 300);
      await eventually(() => load.acknowledged > before + options.clients);
      (side === "source" ? source : follower).child.kill("SIGKILL");
      if (side === "source") {
        await source.ended();
        source = await start();
      } else {
        await follower.ended;
        follower = begin();
      }
    }
    await target.kill?.();
    options.tell?.(`round ${round} of ${options.rounds}: ${load.acknowledged} acknowledged`);
  }
  await load.stop();
  follower.child.kill("SIGTERM");
  await follower.ended;
  const last = await startPlantStore([...args, "--once"], { environment: bothTokens }).ended;
  if (last.code !== 0) throw new Error(`The last follow failed: ${last.err}`);
  const [here, there] = [plantsOf(database), target.plants()];
  source.child.kill("SIGTERM");
  await source.ended();
  return {
    plants: here.size,
    missing: [...here.keys()].filter((id) => !there.has(id)).length,
    different: [...here].filter(([id, name]) => there.has(id) && there.get(id) !== name).length,
    extra: [...there.keys()].filter((id) => !here.has(id)).length,
  };
}

interface RoundTarget extends AsyncDisposable {
  readonly args: readonly string[];
  /** Kills the service that it is, and starts it again. */
  kill?(): Promise<void>;
  /** The name of each plant by its id; throws if one is there twice. */
  plants(): Map<string, string>;
}

async function openTarget(folder: string, to: FollowRounds["to"]): Promise<RoundTarget> {
  const none = async () => {};
  const file = join(folder, "copy.db");
  if (to === "file")
    return { args: ["--to", file], plants: () => plantsOf(file), [Symbol.asyncDispose]: none };
  if (to === "folder") {
    const copies = join(folder, "copies");
    return { args: ["--to", `${copies}/`], plants: () => segmentPlants(copies), [Symbol.asyncDispose]: none };
  }
  const start = (): Promise<Serving> => serve(["--database", file], { environment: bothTokens });
  let service = await start();
  const proxy = await startTcpProxy(() => Number(new URL(service.url).port));
  return {
    args: ["--to", `http://127.0.0.1:${proxy.port}`, "--cursor", join(folder, "cursor")],
    plants: () => plantsOf(file),
    async kill() {
      service.child.kill("SIGKILL");
      await service.ended();
      service = await start();
    },
    async [Symbol.asyncDispose]() {
      proxy[Symbol.dispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

function plantsOf(file: string): Map<string, string> {
  return new Map(storedPlants(file).map(({ id, name }) => [String(id), name]));
}

function segmentPlants(folder: string): Map<string, string> {
  const plants = new Map<string, string>();
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".ndjson"))) {
    for (const line of readFileSync(join(folder, name), "utf8").trimEnd().split("\n")) {
      const [, id = ""] = /^\{"id":(-?\d+),/.exec(line) ?? [];
      if (plants.has(id)) throw new Error(`The plant ${id} is in two segments.`);
      plants.set(id, (JSON.parse(line) as { name: string }).name);
    }
  }
  return plants;
}

/** Creates plants until it is stopped, at whatever address the service has. */
function startLoad(url: () => string, clients: number) {
  let running = true;
  let next = 0n;
  const counts = { acknowledged: 0 };
  const client = async (): Promise<void> => {
    while (running) {
      // Spread over all of int64.
      const id = String(BigInt.asIntN(64, next++ * 0x9e3779b97f4a7c15n));
      try {
        const response = await fetch(`${url()}/plants`, {
          method: "POST",
          headers: { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" },
          body: `{"id":${id},"name":"plant ${id}"}`,
        });
        if (response.status === 200) counts.acknowledged++;
      } catch {
        await Bun.sleep(20);
      }
    }
  };
  const all = Array.from({ length: clients }, client);
  return {
    get acknowledged() {
      return counts.acknowledged;
    },
    async stop() {
      running = false;
      await Promise.all(all);
    },
  };
}
