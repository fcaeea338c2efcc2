// npm run bench:overload
// A minute, before a release: fails when creates fall under the floor with four times as many clients as plants may be pending,
// all of which retry immediately. As a share of the rate with as many clients as plants may be pending.
import { databaseOfPlants, startBenchPostgres } from "./on-postgres.ts";
import { load, median, type Server, startOurs } from "./servers.ts";

const floor = 0.8;
const rounds = 3;
const pendingMax = 500;
const flags = ["--max-pending", String(pendingMax)];

await using postgres = await startBenchPostgres();
await using onSqlite = await startOurs(flags);
await using onPostgres = await startOurs([...flags, "--database", await databaseOfPlants(postgres)]);
const servers: Record<string, Server> = { SQLite: onSqlite, PostgreSQL: onPostgres };
for (const [name, server] of Object.entries(servers)) {
  const ratios: number[] = [];
  let nextId = 1;
  for (let round = 0; round <= rounds; round++) {
    const rates: number[] = [];
    for (const connections of [pendingMax, 4 * pendingMax]) {
      const result = await load(server, { connections, seconds: 3, firstId: nextId, mayRefuse: true });
      nextId = result.nextId;
      rates.push(result.rate);
    }
    const [atLimit = 1, overloaded = 0] = rates;
    if (round > 0) ratios.push(overloaded / atLimit);
  }
  const ratio = median(ratios);
  const fine = ratio >= floor;
  console.log(
    `${name}: ${ratio.toFixed(2)} of the rate at the limit, floor ${floor}: ${fine ? "fine" : "UNDER THE FLOOR"}`,
  );
  if (!fine) process.exitCode = 1;
}
