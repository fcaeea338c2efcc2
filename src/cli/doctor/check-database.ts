import type { StoreSetting } from "../../storage/open-store.ts";
import { DatabaseProblem } from "../../storage/postgres/database-url.ts";
import { type DatabaseDiagnosis, diagnoseDatabase } from "../../storage/postgres/diagnosis.ts";
import { checkLastPlant, clockOffMsMax } from "./check-clock.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** A PostgreSQL server: what it would lose, and what the role may do. */
export async function checkDatabase(setting: StoreSetting): Promise<Finding[]> {
  let found: DatabaseDiagnosis;
  try {
    found = await diagnoseDatabase(setting.database, setting);
  } catch (error) {
    if (!(error instanceof DatabaseProblem)) throw error;
    return [
      findingsOf("database").fail(
        error.message,
        "Check that the server runs, and check the URL, the password and pg_hba.conf.",
      ),
    ];
  }
  const { version, encoding, clockAheadMs } = found;
  const clock = checkServerClock(clockAheadMs);
  return [
    findingsOf("database").ok(`${version}, encoding ${encoding}`),
    checkSettings(found),
    checkStandbys(found),
    checkPrivileges(found),
    clock,
    checkLastPlant(found.lastPlantMs),
  ].filter((finding) => finding !== undefined);
}

function checkSettings({ fsync, synchronousCommit, fullPageWrites }: DatabaseDiagnosis): Finding {
  const { fail, ok, warn } = findingsOf("durability");
  const values = { fsync, synchronous_commit: synchronousCommit, full_page_writes: fullPageWrites };
  const message = Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : `${name}=${value}`))
    .join(", ");
  const off = fsync === "off" ? "fsync" : synchronousCommit === "off" ? "synchronous_commit" : undefined;
  if (off !== undefined)
    return fail(
      message,
      `Turn ${off} on: the server acknowledges plants that a crash can lose. The service refuses it without --allow-unsafe-database yes.`,
    );
  if (fullPageWrites === "off")
    return warn(
      message,
      "Turn full_page_writes on, unless the filesystem writes pages atomically (ZFS): a power failure can damage pages.",
    );
  return ok(message || "this engine has settings of its own");
}

function checkStandbys({ standbyNames, synchronousStandbys, synchronousCommit }: DatabaseDiagnosis): Finding {
  const { fail, ok, warn } = findingsOf("standbys");
  if (standbyNames === "") return ok("a commit waits for no standby: a 200 means on one server's disk");
  const message = `synchronous_standby_names=${standbyNames}`;
  if (synchronousCommit === "local")
    return warn(
      `${message}, but synchronous_commit=local does not wait for them`,
      "Set synchronous_commit to on, so that a 200 means replicated.",
    );
  if (synchronousStandbys === undefined) return ok(`${message}; this role may not see which are connected`);
  if (synchronousStandbys === 0)
    return fail(
      `${message}, and none of them is connected`,
      "Every commit waits for one, so creates are answered with 50302. Start the standby, or change the setting.",
    );
  return ok(`${message}, ${synchronousStandbys} connected`);
}

function checkPrivileges({ role, hasTables, missingPrivileges }: DatabaseDiagnosis): Finding {
  const { fail, ok } = findingsOf("privileges");
  if (missingPrivileges.length > 0)
    return fail(`the role ${role} lacks ${missingPrivileges.join(", ")}`, "Grant it to that role.");
  return ok(
    hasTables
      ? `the role ${role} has every privilege a node needs`
      : "no tables yet; the first start creates them",
  );
}

function checkServerClock(aheadMs: number): Finding | undefined {
  if (Math.abs(aheadMs) < clockOffMsMax) return undefined;
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  return findingsOf("clock").warn(
    `${seconds} s ${aheadMs > 0 ? "slower" : "faster"} than the database server's`,
    "Have both machines follow a time server.",
  );
}
