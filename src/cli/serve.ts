import { resolve } from "node:path";
import { type Config, readConfig, unknownVariables } from "../config/read-config.ts";
import { type SettingName, settings, withoutPassword } from "../config/settings.ts";
import { type Service, startService } from "../service.ts";
import { DatabaseProblem } from "../storage/postgres/database-url.ts";
import { createLog } from "../telemetry/log.ts";
import type { Command } from "./command.ts";
import { sources } from "./flags.ts";
import { bold, columns, green, Misuse, type Terminal } from "./terminal.ts";

export const serve: Command = {
  usage: "serve",
  summary: "run the service",
  examples: [
    "plant-store serve",
    "plant-store serve --listen 0.0.0.0:8080 --database /var/lib/plant-store/plants.db",
  ],
  flags: {},
  settings: Object.keys(settings) as SettingName[],

  async run(args, terminal) {
    if (args.words.length > 0) throw new Misuse(`"${args.words[0]}" is not expected here`);
    const stopSignal = terminal.stopSignal();
    const config = readConfig(sources(args, terminal));
    const format =
      config.logFormat === "auto" ? (terminal.errIsTerminal ? "pretty" : "json") : config.logFormat;
    const log = createLog({
      level: config.logLevel,
      format,
      colour: terminal.colourErr,
      write: terminal.err,
    });
    for (const name of unknownVariables(terminal.environment))
      log.warn("a variable is not one of ours; see `plant-store config`", { name });

    const service = await startService(config, log);
    terminal.out(greeting(service, config, terminal));
    void service.opened?.then(
      (secret) => terminal.out(openedNow(service.publicUrl, secret, terminal.colourOut)),
      () => {},
    );
    log.info("listening", { url: service.publicUrl, operatorUrl: service.operatorUrl });

    const end = await Promise.race([stopSignal, service.failed]);
    const unusable = end instanceof DatabaseProblem ? end : undefined;
    await service.close(typeof end === "string" ? end : (unusable?.message ?? "write outcome unknown"));
    if (unusable !== undefined) throw unusable;
    // It can also become unknown while stopping.
    if (!service.broken) return 0;
    return terminal.exitWithoutClosing(1);
  },
};

function greeting(
  { publicUrl, operatorUrl, firstSecret, opened }: Service,
  config: Config,
  { colourOut }: Terminal,
): string {
  const places = [
    ["plants", `${publicUrl}/plants`],
    ["docs", `${publicUrl}/docs`],
    ...(operatorUrl === undefined ? [] : [["console", `${operatorUrl}/`]]),
    ["data", /^\w+:\/\//.test(config.database) ? withoutPassword(config.database) : resolve(config.database)],
  ];
  const opening = `${green("Plant Store", colourOut)} is running. Ctrl-C stops it.\n\n${columns(places, "  ")}\n\n`;
  if (opened !== undefined)
    return `${opening}The database cannot be used yet; the log says why. Until it can, plants are answered with 50302.\n\n`;
  if (firstSecret !== undefined) return opening + firstRun(publicUrl, firstSecret, colourOut);
  return config.presetTokens.length > 0
    ? opening
    : `${opening}Another token: npx --no plant-store token create --name NAME\n\n`;
}

function openedNow(publicUrl: string, secret: string | undefined, colour: boolean): string {
  const opening = "The database is open now.\n\n";
  return secret === undefined ? opening : opening + firstRun(publicUrl, secret, colour);
}

function firstRun(publicUrl: string, secret: string, colour: boolean): string {
  return [
    "This is the first run, so here is a token. It sends plants and opens the console; it is shown once and kept as a hash:",
    "",
    `  ${bold(secret, colour)}`,
    "",
    "Send the first plant:",
    "",
    `  curl ${publicUrl}/plants \\`,
    `    -H 'Authorization: Bearer ${secret}' \\`,
    "    -H 'Content-Type: application/json' \\",
    `    -d '{"id": 1, "name": "Fern", "tag": "indoor"}'`,
    "",
    "",
  ].join("\n");
}
