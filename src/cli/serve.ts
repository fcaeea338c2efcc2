import packageFile from "../../package.json" with { type: "json" };
import type { FirstToken } from "../access/first-token.ts";
import { isDatabaseUrl } from "../config/database.ts";
import {
  type Config,
  type ConfigSources,
  readServiceConfig,
  unknownVariables,
} from "../config/read-config.ts";
import { secrets } from "../config/settings.ts";
import type { Service } from "../service.ts";
import { createLog, type Level, type Log } from "../telemetry/log.ts";
import { minuteMs } from "../text/duration.ts";
import { command, everySetting } from "./command.ts";
import { exposureWarnings } from "./exposed-secrets.ts";
import { formatFirstToken, formatStartup } from "./startup-message.ts";
import type { Terminal } from "./terminal.ts";

// A timer keeps the process alive, whatever its interval.
const stayUpEveryMs = minuteMs;

export const serve = command({
  summary: "run the service",
  isService: true,
  examples: [
    "plant-store serve",
    "plant-store serve --listen 0.0.0.0:8080 --database /var/lib/plants.db",
    "PLANT_STORE_LISTEN=0.0.0.0:8080 plant-store serve",
  ],
  ...everySetting,

  async run({ sources }, terminal) {
    // A signal during the start stops the service too, as soon as it runs.
    const stopSignal = terminal.waitForStopSignal();

    // The configuration, and the log as it asks for it.
    const config = readServiceConfig(sources);
    const lines = batchLines(terminal);
    const log = createServiceLog(config, terminal, lines.write);
    warnOfUnknownVariables(terminal, log);

    // The service itself. It is loaded only here: the other commands take a quarter less CPU time without it.
    const { startService } = await import("../service.ts");
    const service = await startService(config, log, { printsFirstToken: terminal.outIsTerminal });

    // What other users of the machine can read: only now, when the data file exists.
    warnOfExposure(sources, config, log);

    // That it runs, for a person and for the log. A database that opens later may have a first token then.
    terminal.out(formatStartup(service, config));
    terminal.outFlushed().catch((error: Error) => log.warn(error.message));
    logFirstToken(service.firstToken, log);
    reportLaterOpening(service, terminal, log);
    logListening(service, log);

    // It runs until a signal arrives, or until it cannot go on.
    const cause = await Promise.race([stopSignal, service.mustStop]);
    const next = await service.stop(cause);
    lines.flush();

    // The end of the process.
    switch (next) {
      case "stay-up":
        return stayUp();
      case "exit-without-closing":
        // The log has said why.
        return terminal.exitWithoutClosing(1);
      case "exit":
        // A PostgreSQL database that opened later and cannot be used: this has not been reported yet.
        if (cause instanceof Error) throw cause;
        // Everything is closed, and a backup that runs keeps no stop waiting.
        return terminal.exitWithoutClosing(0);
    }
  },
});

/** The log in the format that is configured: by default for people on a terminal, for programs elsewhere. */
function createServiceLog(
  { logLevel, logFormat }: Config,
  terminal: Terminal,
  write: (line: string, level: Level) => void,
): Log {
  const formatHere = terminal.errIsTerminal ? "pretty" : "json";
  return createLog({
    level: logLevel,
    format: logFormat === "auto" ? formatHere : logFormat,
    hasColour: terminal.errHasColour,
    isForJournal: terminal.errIsJournal,
    write,
  });
}

function warnOfUnknownVariables({ environment }: Terminal, log: Log): void {
  for (const name of unknownVariables(environment))
    log.warn("unknown environment variable; see `plant-store config`", { "plant_store.variable": name });
}

/** Warns of a password in the arguments, and of files with secrets or plants that other users of the machine can read. */
function warnOfExposure(sources: ConfigSources, config: Config, log: Log): void {
  const paths = [
    ...(config.tls === undefined ? [] : [config.tls.key]),
    ...(isDatabaseUrl(config.database) ? [] : [config.database]),
  ];
  for (const warning of exposureWarnings(sources, Object.values(secrets), paths)) log.warn(warning);
}

/** After a start without the database: says when it is open, with the token that was created then. */
function reportLaterOpening(service: Service, terminal: Terminal, log: Log): void {
  const report = (token: FirstToken | undefined): void => {
    terminal.out(`The database is available now.\n\n${formatFirstToken(service, token)}`);
    logFirstToken(token, log);
  };
  // A failure stops the service (`mustStop`), and is reported there.
  void service.openedLater?.then(report, () => {});
}

function logListening({ publicUrl, operatorUrl, addresses }: Service, log: Log): void {
  log.info("listening", {
    "url.full": publicUrl,
    "plant_store.operator_url": operatorUrl,
    "plant_store.addresses": addresses.join(", "),
    "service.version": packageFile.version,
  });
}

/** Keeps the process alive, until a second signal ends it: by then the operator has copied the files. */
function stayUp(): Promise<never> {
  return new Promise(() => setInterval(() => {}, stayUpEveryMs));
}

/**
 * Writes the lines of one turn of the event loop together: if every request is logged, writing each one separately costs more
 * than the rest of its logging. A warning or an error is written immediately, with everything before it.
 */
function batchLines({ err }: Terminal) {
  let lines = "";
  const flush = (): void => {
    if (lines !== "") err(lines);
    lines = "";
  };
  return {
    write(line: string, level: Level): void {
      if (lines === "") setImmediate(flush);
      lines += line;
      if (level === "warn" || level === "error") flush();
    },
    flush,
  };
}

/** The log never has the secret itself: logs are collected and stored. */
function logFirstToken(token: FirstToken | undefined, log: Log): void {
  if (token?.kind === "in-file")
    log.info("the first token was created; its file has the secret", { "file.path": token.file });
  if (token?.kind === "not-delivered") log.warn(token.problem);
}
