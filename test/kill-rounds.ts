import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "./command.ts";
import { accessToken, eventually, storedPlants, temporaryFolder } from "./harness.ts";

export interface KillReport {
  readonly acknowledged: number;
  readonly stored: number;
  readonly missing: string[];
  readonly different: string[];
}

const clients = 32;

/**
 * Repeatedly loads a service, kills it with -9 and restarts it, and records every acknowledged plant. Each start must
 * checkpoint the WAL of the killed service before its first response, so the comparison reads the data file without its
 * WAL.
 */
export async function runKillRounds(
  rounds: number,
  tell: (line: string) => void = () => {},
): Promise<KillReport> {
  using folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  const acknowledged = new Map<string, string>();
  let nextId = 0n;
  for (let round = 1; round <= rounds; round++) {
    await using service = await start(database);
    let alive = true;
    const client = async (): Promise<void> => {
      while (alive) {
        // Spread over all of int64, so that rows go to every page of the index.
        const id = String(BigInt.asIntN(64, nextId++ * 0x9e3779b97f4a7c15n));
        const name = `plant ${id} of round ${round}`;
        try {
          const response = await send(service.url, id, name);
          if (response.status === 200) acknowledged.set(id, name);
        } catch {
          return;
        }
      }
    };
    const before = acknowledged.size;
    const all = Array.from({ length: clients }, client);
    await Bun.sleep(60 + Math.random() * 240);
    // On a busy machine the first responses may take longer than that.
    await eventually(() => acknowledged.size >= before + clients);
    service.child.kill("SIGKILL");
    alive = false;
    await Promise.all([service.ended(), ...all]);
    tell(`round ${round} of ${rounds}: ${acknowledged.size} acknowledged so far`);
  }
  await using last = await start(database);
  const withoutWal = join(folder.path, "copy.db");
  copyFileSync(database, withoutWal);
  const stored = new Map(storedPlants(withoutWal).map(({ id, name }) => [String(id), name]));
  last.child.kill("SIGTERM");
  await last.ended();
  return {
    acknowledged: acknowledged.size,
    stored: stored.size,
    missing: [...acknowledged.keys()].filter((id) => !stored.has(id)),
    different: [...acknowledged]
      .filter(([id, name]) => stored.has(id) && stored.get(id) !== name)
      .map(([id]) => id),
  };
}

function start(database: string) {
  return serve(["--database", database], { environment: { PLANT_STORE_ACCESS_TOKEN: accessToken } });
}

function send(url: string, id: string, name: string): Promise<Response> {
  return fetch(`${url}/plants`, {
    method: "POST",
    headers: { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" },
    body: `{"id":${id},"name":${JSON.stringify(name)},"tag":"kill"}`,
  });
}
