import { randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { localUser } from "../access/local-user.ts";
import { isDatabaseUrl, withoutPassword } from "../config/database.ts";
import { readServiceConfig, type StoreConfig } from "../config/read-config.ts";
import { settings } from "../config/settings.ts";
import { formatAddress, listenProblem, whyNotBound } from "../http/listen-address.ts";
import { certificateState, readTlsFiles, renewalDays } from "../http/tls-files.ts";
import { configuredBackups, refuseIfBackupsExist } from "../storage/open-store.ts";
import { realDataFile } from "../storage/sqlite/data-file/data-file-path.ts";
import { hasWriter } from "../storage/sqlite/data-file/writer-lock.ts";
import { diagnoseDataFile } from "../storage/sqlite/opening/diagnose-data-file.ts";
import { codeOf, describeFileError, messageOf } from "../system/errors.ts";
import type { Address } from "../system/ip-address.ts";
import type { ListenerName } from "../telemetry/metrics.ts";
import { formatPlural } from "../text/counts.ts";
import { formatBytes } from "../text/sizes.ts";
import { isoMinutes } from "../text/time.ts";
import { command, everySetting, jsonFlag } from "./command.ts";
import { escapeInvisible, formatColumns, type Terminal } from "./terminal.ts";

/** What a check found. A check that throws has failed, for the reason in the message. */
interface Facts {
  readonly facts: string;
  /** What to do about what an operator may have chosen, or only the operator can know. */
  readonly advice?: string | false | undefined;
}

interface Finding {
  readonly check: string;
  /** `fail` is what keeps the service from storing plants. */
  readonly outcome: "ok" | "warn" | "fail";
  /** Names what the check looked at. */
  readonly message: string;
  readonly advice: string | null;
}

type Check = readonly [
  name: string,
  /** What it looks at; undefined if this configuration has no such thing. */
  subject: (config: StoreConfig) => string | undefined,
  run: (config: StoreConfig, subject: string) => Facts | Promise<Facts>,
  /** What to do if it fails. */
  remedy: string,
];

/** Every check, in the order in which they run. */
const checks: readonly Check[] = [
  [
    "folder",
    folderOf,
    checkFolder,
    "Make the service's user its owner, free space, or name another folder with --database.",
  ],
  [
    "fsync",
    folderOf,
    (_, folder) => judgeFsync(timeFsyncs(folder)),
    "Plants cannot be stored there. Free space, fix the permissions, or name another folder.",
  ],
  ["data file", dataFileOf, checkDataFile, 'See "Crashes" in docs/operating.md.'],
  [
    "backup folder",
    (config) => configuredBackups(config).folder?.folderPath,
    checkBackupFolder,
    "Check --backup-folder.",
  ],
  [
    "database",
    ({ database }) => (isDatabaseUrl(database) ? withoutPassword(database) : undefined),
    checkPostgres,
    "Check the server, the URL, the password, pg_hba.conf and the role.",
  ],
  listenerCheck("public", "listen"),
  listenerCheck("operator", "operatorListen"),
  [
    "certificate",
    ({ tls }) => tls?.cert,
    checkCertificate,
    "Renew it, or check --tls-cert and --tls-key. A running service reads them when it is restarted.",
  ],
];

const freeBytesMin = 64e6;
const inMemory = "The folder is in memory, which a reboot clears. Use one on a disk.";
const onNetwork = "SQLite's locks are not reliable on network filesystems. Use a local disk, or PostgreSQL.";
// Linux's filesystems that a store should not be on, by the number that statfs(2) returns (linux/magic.h).
const filesystems: ReadonlyMap<number, string> = new Map([
  // tmpfs
  [0x01021994, inMemory],
  // ramfs
  [0x858458f6, inMemory],
  // overlay
  [0x794c7630, "A container's writable layer is deleted with it. Mount a volume."],
  // FUSE
  [0x65735546, "On FUSE, a program decides what an fsync means. Use a local disk."],
  // NFS
  [0x6969, onNetwork],
  // CIFS
  [0xff534d42, onNetwork],
  // SMB2
  [0xfe534d42, onNetwork],
  // 9p
  [0x01021997, onNetwork],
]);
// A small batch appends about this much to the WAL.
const writeBytes = 4096 + 24;
const syncsMax = 100;
const measureMsMax = 1000;
const slowMs = 20;
// A flash device without power-loss protection needs longer to flush.
const implausibleMs = 0.1;

export const doctor = command({
  summary: "check the disk, the store and the addresses of the service",
  examples: ["plant-store doctor", "plant-store doctor --database /var/lib/plant-store/plants.db --json"],
  flags: { json: jsonFlag },
  ...everySetting,
  async run({ flags: { json }, sources }, terminal) {
    const config = readServiceConfig(sources);
    const findings: Finding[] = [];
    for (const check of checks) findings.push(...(await findingsOf(check, config)));
    const result = (["fail", "warn", "ok"] as const).find((wanted) =>
      findings.some(({ outcome }) => outcome === wanted),
    );
    if (json) terminal.printJson({ result, findings });
    else terminal.out(`${formatFindings(findings, terminal)}\n`);
    return result !== "fail";
  },
});

/** A line for each finding; on a terminal, what does not fit continues below the message. */
function formatFindings(findings: readonly Finding[], { outIsTerminal, outColumns }: Terminal): string {
  const rows = findings.map(({ outcome, check, message, advice }) => {
    const text = advice === null ? message : `${message.replace(/\.$/, "")}. ${advice}`;
    // The text may quote a file or a server.
    return [outcome, check, escapeInvisible(text)];
  });
  return formatColumns(rows, "", outIsTerminal ? outColumns : undefined);
}

/** What a check found; nothing if it does not apply. One check that fails does not end the others. */
async function findingsOf([check, subjectOf, run, remedy]: Check, config: StoreConfig): Promise<Finding[]> {
  const subject = subjectOf(config);
  if (subject === undefined) return [];
  try {
    const { facts, advice } = await run(config, subject);
    const outcome = advice ? "warn" : "ok";
    return [{ check, outcome, message: `${subject}: ${facts}`, advice: advice || null }];
  } catch (error) {
    const reason = describeFileError(error);
    const message = reason.includes(subject) ? reason : `${subject}: ${reason}`;
    return [{ check, outcome: "fail", message, advice: remedy }];
  }
}

function dataFileOf({ database }: StoreConfig): string | undefined {
  return isDatabaseUrl(database) ? undefined : database;
}

/** The folder of the data file, or the nearest above it that exists: `serve` creates the rest. */
function folderOf({ database }: StoreConfig): string | undefined {
  if (isDatabaseUrl(database)) return undefined;
  let path = dirname(realDataFile(database));
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  return path;
}

/** Whether the folder can be written to, its space, and its kind of filesystem. */
function checkFolder({ database }: StoreConfig, folder: string): Facts {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(`${localUser()} may not write to ${folder}: ${describeFileError(error)}`);
  }
  const { bavail, bsize, type } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  const facts = `${formatBytes(freeBytes)} free`;
  if (freeBytes < freeBytesMin) throw new Error(`${facts}: on a full disk, creates are refused with 50302`);
  const isNew = folder !== dirname(realDataFile(database));
  const created =
    "The data folder does not exist yet. The first start creates it. If you expected one, check --database.";
  // Node returns the number as a signed one.
  return { facts, advice: filesystems.get(type >>> 0) ?? (isNew && created) };
}

/** Times real fsyncs, on a file that is removed again. */
function timeFsyncs(folder: string): readonly number[] {
  const path = join(folder, `.plant-store-doctor-${randomUUID()}`);
  const file = openSync(path, "wx", 0o600);
  try {
    const timesMs: number[] = [];
    const deadlineMs = performance.now() + measureMsMax;
    while (timesMs.length < syncsMax && (timesMs.length === 0 || performance.now() < deadlineMs)) {
      writeSync(file, Buffer.alloc(writeBytes, 1));
      const startedMs = performance.now();
      fsyncSync(file);
      timesMs.push(performance.now() - startedMs);
    }
    return timesMs;
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

export function judgeFsync(timesMs: readonly number[]): Facts {
  const sorted = timesMs.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  const medianMs = at(0.5);
  const facts = `${sorted.length} fsyncs, median ${medianMs.toFixed(3)} ms, p99 ${at(0.99).toFixed(3)} ms`;
  if (medianMs < implausibleMs)
    return {
      facts,
      advice:
        "Most devices cannot flush that fast. Unless this one has power-loss protection, a volatile cache (of the disk, or of a virtual machine's host) may lose acknowledged plants in a power failure. Turn it off.",
    };
  return {
    facts,
    advice: medianMs > slowMs && "That is slow, and every batch waits for one. Use a faster disk.",
  };
}

async function checkDataFile(config: StoreConfig, dataFile: string): Promise<Facts> {
  await refuseIfBackupsExist(dataFile, configuredBackups(config));
  const found = diagnoseDataFile(dataFile);
  if (found === undefined) return { facts: "does not exist yet, or is empty; the first start creates it" };
  const { bytes, walBytes, isWritable, hasSyncFailed } = found;
  const open = found.hasWriter ? "a service has it open" : "no service has it open";
  const facts = `can be read, ${formatBytes(bytes)} and a WAL of ${formatBytes(walBytes)}; ${open}`;
  if (!isWritable) throw new Error(`${facts}; ${localUser()} may not write to it`);
  const syncFailed =
    "An fsync failed in the previous run. The next start copies the file, which needs as much free space again; check the disk (dmesg, smartctl) first.";
  return { facts, advice: hasSyncFailed && !found.hasWriter && syncFailed };
}

async function checkBackupFolder(config: StoreConfig): Promise<Facts> {
  try {
    const backups = (await configuredBackups(config).folder?.list()) ?? [];
    const newest = backups[0] && `, the newest of ${isoMinutes(backups[0].atMs)}`;
    return { facts: `${formatPlural(backups.length, "backup")}${newest ?? ""}` };
  } catch (error) {
    return { facts: "cannot be listed", advice: messageOf(error) };
  }
}

async function checkPostgres(config: StoreConfig): Promise<Facts> {
  // Loaded only for PostgreSQL, as in open-store.ts.
  const { diagnoseDatabase } = await import("../storage/postgres/diagnose-database.ts");
  const { facts, rewriting } = await diagnoseDatabase(config.database, config);
  const changes = `The table plants has the ${rewriting.join(" and the ")}, which may change or drop a plant before it is stored. See "On PostgreSQL" in docs/operating.md.`;
  return { facts, advice: rewriting.length > 0 && changes };
}

function listenerCheck(listener: ListenerName, setting: "listen" | "operatorListen"): Check {
  return [
    `${listener} listener`,
    ({ [setting]: address }) => address && formatAddress(address),
    (config) => checkListener(listener, config[setting] as Address, config),
    `Free the address, or choose another with --${settings[setting].flag}.`,
  ];
}

/** Whether the address can be bound, unless a service may have it: of a server nobody knows whether one uses it. */
async function checkListener(
  listener: ListenerName,
  address: Address,
  { database }: StoreConfig,
): Promise<Facts> {
  const error = await whyNotBound(address);
  if (error === undefined) return { facts: "free" };
  if (codeOf(error) !== "EADDRINUSE") throw listenProblem(error, address, listener);
  if (isDatabaseUrl(database))
    return { facts: "in use", advice: "Make sure that this service is the one using it." };
  if (!hasWriter(database)) throw new Error("in use, and no service has this data file open");
  return { facts: "in use, and a service has this data file open" };
}

/** Whether the certificate and the key can be read and belong together, and how long clients will accept them. */
function checkCertificate({ tls }: StoreConfig): Facts {
  if (tls === undefined) return { facts: "none" };
  const { expiresAtMs } = readTlsFiles(tls);
  const expiry = isoMinutes(expiresAtMs);
  const state = certificateState(expiresAtMs, Date.now());
  if (state === "expired") throw new Error(`expired on ${expiry}, and clients refuse it`);
  const renew = `That is in less than ${renewalDays} days. Renew it, then restart the service.`;
  return { facts: `valid until ${expiry}`, advice: state === "expires-soon" && renew };
}
