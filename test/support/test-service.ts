// The service in the process of a test.
import { join } from "node:path";
import { readServiceConfig } from "../../src/config/read-config.ts";
import { type Service, startService } from "../../src/service.ts";
import type { PostgresTimes } from "../../src/storage/postgres/server.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { printIfTestFails } from "./service-logs.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { bothTokensEnvironment, findSecrets } from "./tokens.ts";

export interface TestService extends Pick<Service, "addresses" | "openedLater" | "stop">, AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly operatorUrl: string;
  readonly database: string;
  /** Every line logged so far. */
  readonly logged: string[];
}

const defaultFlags = {
  listen: "127.0.0.1:0",
  "operator-listen": "127.0.0.1:0",
  // A drain would wait a second for fetch's idle connections.
  "drain-timeout": "0s",
};

/**
 * Starts the composition root as `serve` does, with its flags. By default on free ports and a new data file, without a drain.
 * `times` are for outages of PostgreSQL.
 */
export async function startTestService(
  flags: Record<string, string | undefined> = {},
  environment: Record<string, string> = {},
  times: Partial<PostgresTimes> = {},
): Promise<TestService> {
  using cleanUp = new DisposableStack();
  const database = flags["database"] ?? join(cleanUp.use(temporaryFolder()).path, "plants.db");
  const logged: string[] = [];
  const leaked: string[] = [];
  const read = readServiceConfig({
    flags: { ...defaultFlags, ...flags, database },
    environment: { ...bothTokensEnvironment, ...environment },
    readFile: () => "",
  });
  const config = { ...read, times };
  const log = createLog({
    level: "debug",
    format: "json",
    hasColour: false,
    isForJournal: false,
    write: (line) => {
      logged.push(line);
      leaked.push(...findSecrets(line));
    },
  });
  const service = await startService(config, log);
  cleanUp.defer(printIfTestFails(() => logged.join("")));
  const whenStopped = cleanUp.move();
  const port = Number(new URL(service.publicUrl).port);
  return {
    addresses: service.addresses,
    openedLater: service.openedLater,
    stop: service.stop,
    url: service.publicUrl,
    port,
    operatorUrl: service.operatorUrl ?? "",
    database,
    logged,
    async [Symbol.asyncDispose]() {
      await service.stop("test");
      whenStopped.dispose();
      if (leaked.length > 0) throw new Error(`The service logged a secret ${leaked.length} times.`);
    },
  };
}

/** Starts the service, and waits until its database is open: on a slow machine, it listens before PostgreSQL is. */
export async function startOpenService(
  database: string,
  environment: Record<string, string> = {},
  times: Partial<PostgresTimes> = {},
): Promise<TestService> {
  const service = await startTestService({ database }, environment, times);
  await service.openedLater;
  return service;
}
