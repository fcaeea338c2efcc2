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
import { isDatabaseUrl } from "../config/database.ts";
import { readServiceConfig, type StoreConfig } from "../config/read-config.ts";
import { settingNames } from "../config/settings.ts";
import { formatAddress, listenProblem, whyNotBound } from "../http/listen-address.ts";
import { certificateState, readTlsFiles, renewalDays, type TlsPaths } from "../http/tls-files.ts";
import { configuredBackups, refuseGoneStore } from "../storage/open-store.ts";
import { realDataFile } from "../storage/sqlite/data-file/data-file-path.ts";
import { hasWriter } from "../storage/sqlite/data-file/writer-lock.ts";
import { diagnoseDataFile } from "../storage/sqlite/opening/diagnose-data-file.ts";
import { codeOf, describeFileError } from "../system/errors.ts";
import type { Address } from "../system/ip-address.ts";
import type { ListenerName } from "../telemetry/metrics.ts";
import { formatBytes } from "../text/sizes.ts";
import { isoTime } from "../text/time.ts";
import { allSecrets, type Command, jsonFlag } from "./command.ts";
import { escapeInvisible, formatColumns, formatTerms, printJson, type Terminal } from "./terminal.ts";

/** What a check found. A check that throws has failed, for the reason in the message. */
interface Facts {
  readonly facts: string;
  /** What an operator may have chosen, or only the operator can know, each with what to do about it. */
  readonly warnings?: readonly string[];
}

interface Finding {
  readonly check: string;
  /** `fail` is what keeps the service from storing plants. */
  readonly outcome: "ok" | "warn" | "fail";
  readonly message: string;
  readonly advice: string | null;
}

interface Check {
  readonly name: string;
  readonly run: () => Facts | Promise<Facts>;
  /** What to do if it fails. */
  readonly remedy: string;
}

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

export const doctor: Command = {
  usage: "doctor",
  summary: "check the disk, the store and the addresses that the service needs",
  examples: ["plant-store doctor", "plant-store doctor --database /var/lib/plant-store/plants.db --json"],
  flags: { json: jsonFlag },
  settings: settingNames,
  secrets: allSecrets,
  async run(args, terminal) {
    const findings: Finding[] = [];
    for (const check of checksFor(readServiceConfig(args.sources))) findings.push(await findingOf(check));
    const worst = (["fail", "warn", "ok"] as const).find((outcome) =>
      findings.some((finding) => finding.outcome === outcome),
    );
    if (args.has("json")) {
      printJson(terminal, { result: worst, findings });
    } else {
      terminal.out(`${formatFindings(findings, terminal)}\n`);
    }
    return worst === "fail" ? 1 : 0;
  },
};

/** A line for each finding; on a terminal, what does not fit continues below the message. */
function formatFindings(
  findings: readonly Finding[],
  { outIsTerminal, outColumns }: Pick<Terminal, "outIsTerminal" | "outColumns">,
): string {
  const checks = formatColumns(findings.map(({ outcome, check }) => [outcome, check])).split("\n");
  const terms = findings.map(({ message, advice }, index) => {
    const text = advice === null ? message : `${message.replace(/\.$/, "")}. ${advice}`;
    // The text may quote a file or a server.
    return [checks[index] ?? "", escapeInvisible(text)] as const;
  });
  return formatTerms(terms, "", outIsTerminal ? outColumns : Number.POSITIVE_INFINITY);
}

/** The checks of this configuration, in the order in which they run. */
function checksFor(config: StoreConfig): readonly Check[] {
  const { database, listen, operatorListen, tls } = config;
  const isFile = !isDatabaseUrl(database);
  const isInUse = () => (isFile ? hasWriter(database) : undefined);
  const checks = isFile ? dataFileChecks(config) : [databaseCheck(database, config)];
  checks.push({
    name: "public listener",
    run: () => checkListener("public", listen, isInUse),
    remedy: "Free the address, or choose another with --listen.",
  });
  if (operatorListen !== undefined)
    checks.push({
      name: "operator listener",
      run: () => checkListener("operator", operatorListen, isInUse),
      remedy: "Free the address, or choose another with --operator-listen.",
    });
  if (tls !== undefined)
    checks.push({
      name: "certificate",
      run: () => checkCertificate(tls),
      remedy:
        "Renew it, or check --tls-cert and --tls-key. A running service reads them when it is restarted.",
    });
  return checks;
}

function dataFileChecks({ database: dataFile, backupFolder }: StoreConfig): Check[] {
  return [
    {
      name: "folder",
      run: () => checkFolder(dataFile),
      remedy: "Make the service's user its owner, free space, or name another folder with --database.",
    },
    {
      name: "fsync",
      run: () => judgeFsync(timeFsyncs(dataFile)),
      remedy: "Plants cannot be stored there. Free space, fix the permissions, or name another folder.",
    },
    {
      name: "data file",
      run: () => checkDataFile(dataFile, backupFolder),
      remedy: 'See "Crashes" in docs/operating.md.',
    },
  ];
}

function databaseCheck(url: string, config: StoreConfig): Check {
  return {
    name: "database",
    run: () => checkPostgres(url, config),
    remedy: "Check the server, the URL, the password, pg_hba.conf and the role.",
  };
}

/** One check that fails does not end the others. */
async function findingOf({ name: check, run, remedy }: Check): Promise<Finding> {
  try {
    const { facts, warnings = [] } = await run();
    const advice = warnings.join(" ");
    return { check, outcome: advice === "" ? "ok" : "warn", message: facts, advice: advice || null };
  } catch (error) {
    return { check, outcome: "fail", message: describeFileError(error), advice: remedy };
  }
}

/** The folder of the data file: whether it can be written to, its space, and its kind of filesystem. */
function checkFolder(dataFile: string): Facts {
  const { path, exists } = nearestFolder(dataFile);
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(`${localUser()} may not write to ${path}: ${describeFileError(error)}`);
  }
  const { bavail, bsize, type } = statfsSync(path);
  const freeBytes = bavail * bsize;
  const facts = `${path}, ${formatBytes(freeBytes)} free`;
  if (freeBytes < freeBytesMin) throw new Error(`${facts}: on a full disk, creates are refused with 50302`);
  const warnings: string[] = [];
  if (!exists)
    warnings.push(
      "The data folder does not exist yet. The first start creates it. If you expected one, check --database.",
    );
  // Node returns the number as a signed one.
  const unsuitable = filesystems.get(type >>> 0);
  if (unsuitable !== undefined) warnings.push(unsuitable);
  return { facts, warnings };
}

/** Times real fsyncs, on a file that is removed again. */
function timeFsyncs(dataFile: string): readonly number[] {
  const path = join(nearestFolder(dataFile).path, `.plant-store-doctor-${randomUUID()}`);
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
  const facts = `median ${at(0.5).toFixed(3)} ms, p99 ${at(0.99).toFixed(3)} ms, of ${sorted.length}`;
  const warnings: string[] = [];
  if (at(0.5) < implausibleMs)
    warnings.push(
      "Most devices cannot flush that fast. Unless this one has power-loss protection, a volatile cache (of the disk, or of a virtual machine's host) may lose acknowledged plants in a power failure. Turn it off.",
    );
  if (at(0.5) > slowMs) warnings.push("That is slow, and every batch waits for one. Use a faster disk.");
  return { facts, warnings };
}

async function checkDataFile(dataFile: string, backupFolder: string | undefined): Promise<Facts> {
  await refuseGoneStore(dataFile, configuredBackups({ database: dataFile, backupFolder }));
  const found = diagnoseDataFile(dataFile);
  if (found === undefined)
    return { facts: `${dataFile} does not exist yet, or is empty; the first start creates it` };
  const { bytes, walBytes, isWritable, hasSyncFailed } = found;
  const open = found.hasWriter ? "a service has it open" : "no service has it open";
  const facts = `${dataFile} can be read, ${formatBytes(bytes)} and a WAL of ${formatBytes(walBytes)}; ${open}`;
  if (!isWritable) throw new Error(`${facts}; ${localUser()} may not write to it`);
  const warnings: string[] = [];
  if (hasSyncFailed && !found.hasWriter)
    warnings.push(
      "An fsync failed in the previous run. The next start copies the file, which needs as much free space again; check the disk (dmesg, smartctl) first.",
    );
  return { facts, warnings };
}

async function checkPostgres(url: string, options: StoreConfig): Promise<Facts> {
  // Loaded only for PostgreSQL, as in open-store.ts.
  const { diagnoseDatabase } = await import("../storage/postgres/diagnose-database.ts");
  const { facts, rewriting } = await diagnoseDatabase(url, options);
  if (rewriting.length === 0) return { facts };
  const warning = `The table plants has the ${rewriting.join(" and the ")}, which may change or drop a plant before it is stored. See "On PostgreSQL" in docs/operating.md.`;
  return { facts, warnings: [warning] };
}

/**
 * Whether the address can be bound, unless a service may have it. `isInUse` says whether one has the store open; it returns
 * undefined if that cannot be known, and throws if the lock file cannot be opened.
 */
async function checkListener(
  listener: ListenerName,
  address: Address,
  isInUse: () => boolean | undefined,
): Promise<Facts> {
  const shown = formatAddress(address);
  const error = await whyNotBound(address);
  if (error === undefined) return { facts: `${shown} is free` };
  if (codeOf(error) !== "EADDRINUSE") throw listenProblem(error, address, listener);
  const hasService = isInUse();
  if (hasService === false) throw new Error(`${shown} is in use, and no service has this data file open`);
  return hasService
    ? { facts: `${shown} is in use, and a service has this data file open` }
    : { facts: `${shown} is in use`, warnings: ["Make sure that this service is the one using it."] };
}

/** Whether the certificate and the key can be read and belong together, and how long clients will accept them. */
function checkCertificate(paths: TlsPaths): Facts {
  const { expiresAtMs } = readTlsFiles(paths);
  const expiry = isoTime(expiresAtMs);
  const state = certificateState(expiresAtMs, Date.now());
  if (state === "expired") throw new Error(`${paths.cert} expired on ${expiry}, and clients refuse it`);
  const facts = `${paths.cert} is valid until ${expiry}`;
  if (state !== "expires-soon") return { facts };
  return {
    facts,
    warnings: [`That is in less than ${renewalDays} days. Renew it, then restart the service.`],
  };
}

/** The folder of the data file, or the nearest above it that exists: `serve` creates the rest. */
function nearestFolder(dataFile: string): { readonly path: string; readonly exists: boolean } {
  const wanted = dirname(realDataFile(dataFile));
  let path = wanted;
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  return { path, exists: path === wanted };
}
