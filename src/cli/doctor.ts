import { arch, platform, release } from "node:os";
import packageFile from "../../package.json" with { type: "json" };
import { type Config, readConfig, secretFiles, unknownVariables } from "../config/read-config.ts";
import { type SettingName, settings } from "../config/settings.ts";
import { connectionBudget, descriptorLimit } from "../http/wire/connection-limit.ts";
import { isDatabaseUrl } from "../storage/postgres/database-url.ts";
import { realDataFile } from "../storage/sqlite/data-file-path.ts";
import { type Command, jsonFlag } from "./command.ts";
import { checkClock } from "./doctor/check-clock.ts";
import { checkDataFile } from "./doctor/check-data-file.ts";
import { checkDatabase } from "./doctor/check-database.ts";
import { checkCertificate, checkModes } from "./doctor/check-files.ts";
import { checkFilesystem, checkFolder, checkFreeSpace, nearestFolder } from "./doctor/check-folder.ts";
import { checkFsync } from "./doctor/check-fsync.ts";
import { checkIssuer, checkListeners } from "./doctor/check-network.ts";
import { type Finding, findingsDocument, findingsOf, formatFindings } from "./doctor/finding.ts";
import { formatCount } from "./progress-line.ts";
import { escapeInvisible, printJson, type Terminal } from "./terminal.ts";

const connectionsFew = 1000;

export const doctor: Command = {
  usage: "doctor",
  summary: "check the machine, the settings and the store, and say what to do",
  examples: ["plant-store doctor", "plant-store doctor --database /var/lib/plant-store/plants.db --json"],
  flags: { json: jsonFlag },
  settings: Object.keys(settings) as SettingName[],
  async run(args, terminal) {
    const config = readConfig(args.sources);
    const findings = (await checkAll(config, terminal)).map((finding) => ({
      ...finding,
      // It may quote a file or a server.
      message: escapeInvisible(finding.message),
    }));
    if (args.has("json")) printJson(terminal, findingsDocument(findings));
    else terminal.out(formatFindings(findings, terminal.colourOut));
    return findings.some(({ outcome }) => outcome === "fail") ? 1 : 0;
  },
};

async function checkAll(config: Config, { environment }: Terminal): Promise<Finding[]> {
  const { database, tlsKey, oidcIssuer } = config;
  const isFile = !isDatabaseUrl(database);
  const secretsAndData = [
    ...secretFiles(environment),
    ...(tlsKey === undefined ? [] : [tlsKey]),
    ...(isFile ? [database] : []),
  ];
  return [
    checkRuntime(),
    ...checkVariables(environment),
    ...(isFile
      ? [...checkDisk(database, environment["LD_PRELOAD"]), ...checkDataFile(database)]
      : await checkDatabase(config)),
    checkClock(),
    checkDescriptors(),
    ...checkListeners(config),
    ...checkCertificate(config),
    ...(oidcIssuer === undefined ? [] : [await checkIssuer(oidcIssuer)]),
    ...checkModes(secretsAndData),
  ];
}

function checkRuntime(): Finding {
  const { name, version } = packageFile;
  return findingsOf("runtime").ok(
    `${name} ${version}, ${navigator.userAgent}, ${platform()} ${release()} ${arch()}`,
  );
}

function checkVariables(environment: Terminal["environment"]): Finding[] {
  return unknownVariables(environment).map((name) =>
    findingsOf("settings").warn(
      `${name} is not a setting, and has no effect`,
      "Correct its name; plant-store config lists all.",
    ),
  );
}

function checkDisk(dataFile: string, preload: string | undefined): Finding[] {
  const folder = nearestFolder(realDataFile(dataFile));
  const { path } = folder;
  return [checkFolder(folder), checkFilesystem(path), checkFreeSpace(path), checkFsync(path, preload)];
}

// Those of this process: a supervisor may set others for the service.
function checkDescriptors(): Finding {
  const { ok, warn } = findingsOf("descriptors");
  const limit = descriptorLimit();
  const { publicMax: connections } = connectionBudget();
  const message = `a limit of ${formatCount(limit)} here allows ${formatCount(connections)} client connections`;
  return connections < connectionsFew
    ? warn(
        message,
        "Raise the limit: LimitNOFILE= in systemd, ulimits in Docker Compose, ulimit -n in a shell.",
      )
    : ok(message);
}
