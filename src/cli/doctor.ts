import { type Config, readConfig } from "../config/read-config.ts";
import { type SettingName, settings } from "../config/settings.ts";
import { isDatabaseUrl } from "../storage/postgres/database-url.ts";
import { diagnoseDatabase } from "../storage/postgres/prepare.ts";
import { isServed } from "../storage/sqlite/reading/open-read-only.ts";
import { type Command, jsonFlag } from "./command.ts";
import { checkDataFile, checkFolder, checkFsync, checkListener, type Facts } from "./doctor-checks.ts";
import { describeFileError } from "./local-files.ts";
import { escapeInvisible, formatColumns, green, printJson, red, yellow } from "./terminal.ts";

interface Finding {
  readonly check: string;
  /** `fail` is what keeps the service from storing plants. */
  readonly outcome: "ok" | "warn" | "fail";
  readonly message: string;
  readonly advice: string | null;
}

type Checks = Readonly<Record<string, () => Facts | Promise<Facts>>>;

/** What to do if a check fails. */
const remedies: Readonly<Record<string, string>> = {
  folder: "Make the service's user its owner, free space, or name another folder with --database.",
  fsync: "Plants cannot be stored there: free space, fix the permissions, or name another folder.",
  "data file": "docs/operating.md describes recovery, under Crashes and Troubleshooting.",
  database: "Check the server, the URL, the password, pg_hba.conf and the role.",
  "public listener": "Free the address, or choose another with --listen.",
  "operator listener": "Free the address, or choose another with --operator-listen.",
};

export const doctor: Command = {
  usage: "doctor",
  summary: "check the disk, the store and the addresses that the service needs",
  examples: ["plant-store doctor", "plant-store doctor --database /var/lib/plant-store/plants.db --json"],
  flags: { json: jsonFlag },
  settings: Object.keys(settings) as SettingName[],
  async run(args, terminal) {
    const findings: Finding[] = [];
    for (const [check, run] of Object.entries(checksFor(readConfig(args.sources))))
      findings.push(await findingOf(check, run));
    const worst = (["fail", "warn", "ok"] as const).find((outcome) =>
      findings.some((finding) => finding.outcome === outcome),
    );
    if (args.has("json")) printJson(terminal, { result: worst, findings });
    else terminal.out(formatFindings(findings, terminal.colourOut));
    return worst === "fail" ? 1 : 0;
  },
};

function checksFor(config: Config): Checks {
  const { database, listen, operatorListen, baseUrl, tls } = config;
  const isFile = !isDatabaseUrl(database);
  const secure = tls !== undefined;
  const path = baseUrl?.pathname.replace(/\/+$/, "") ?? "";
  const publicListener = { ...listen, secure, path, needsCertificate: tls?.clientCa !== undefined };
  const operatorListener = operatorListen && { ...operatorListen, secure, path: "", needsCertificate: false };
  const mayBeOurs = () => !isFile || isServed(database);
  return {
    ...(isFile
      ? {
          folder: () => checkFolder(database),
          fsync: () => checkFsync(database),
          "data file": () => checkDataFile(database),
        }
      : { database: async () => ({ facts: await diagnoseDatabase(database, config) }) }),
    "public listener": () => checkListener(publicListener, mayBeOurs()),
    ...(operatorListener && { "operator listener": () => checkListener(operatorListener, mayBeOurs()) }),
  };
}

/** One check that fails does not end the others. */
async function findingOf(check: string, run: Checks[string]): Promise<Finding> {
  try {
    const { facts, doubts = [] } = await run();
    const advice = doubts.filter(Boolean).join(" ");
    return { check, outcome: advice === "" ? "ok" : "warn", message: facts, advice: advice || null };
  } catch (error) {
    return { check, outcome: "fail", message: describeFileError(error), advice: remedies[check] ?? null };
  }
}

/** One line for each finding, with what to do about it. */
function formatFindings(findings: readonly Finding[], colour: boolean): string {
  const marks = { ok: green("ok", colour), warn: yellow("warn", colour), fail: red("fail", colour) };
  const rows = findings.map(({ check, outcome, message, advice }) => [
    marks[outcome],
    check,
    // It may quote a file or a server.
    escapeInvisible(advice === null ? message : `${message.replace(/\.$/, "")}. ${advice}`),
  ]);
  return `${formatColumns(rows)}\n`;
}
