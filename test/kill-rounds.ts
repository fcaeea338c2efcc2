import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "./command.ts";
import { accessToken, storedPlants, temporaryFolder } from "./harness.ts";

export interface KillReport {
  readonly acknowledged: number;
  readonly stored: number;
  readonly missing: string[];
  readonly different: string[];
}

const clients = 32;

/**
 * Sends plants as fast as it can, kills the service with -9 in the middle, starts it again, and so on. A ledger keeps
 * what was acknowledged. Each start must bring the log of the killed one into the database before it answers, so the
 * comparison is with the database file alone, its log left out.
 */
export async function runKillRounds(
  rounds: number,
  tell: (line: string) => void = () => {},
): Promise<KillReport> {
  using folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  const ledger = new Map<string, string>();
  let nextId = 0n;
  for (let round = 1; round <= rounds; round++) {
    await using service = await start(database);
    let alive = true;
    const client = async (): Promise<void> => {
      while (alive) {
        // Spread over all of int64, so that rows go to every page and not only to the last.
        const id = String(BigInt.asIntN(64, nextId++ * 0x9e3779b97f4a7c15n));
        const name = `plant ${id} of round ${round}`;
        try {
          const response = await send(service.url, id, name);
          if (response.status === 200) ledger.set(id, name);
        } catch {
          return;
        }
      }
    };
    const all = Array.from({ length: clients }, client);
    await Bun.sleep(60 + Math.random() * 240);
    service.child.kill("SIGKILL");
    alive = false;
    await Promise.all([service.ended(), ...all]);
    tell(`round ${round} of ${rounds}: ${ledger.size} acknowledged so far`);
  }
  await using last = await start(database);
  const withoutLog = join(folder.path, "copy.db");
  copyFileSync(database, withoutLog);
  const stored = new Map(storedPlants(withoutLog).map(({ id, name }) => [String(id), name]));
  last.child.kill("SIGTERM");
  await last.ended();
  return {
    acknowledged: ledger.size,
    stored: stored.size,
    missing: [...ledger.keys()].filter((id) => !stored.has(id)),
    different: [...ledger]
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
