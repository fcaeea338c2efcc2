import { localOrigin } from "../access/local-user.ts";
import { scopes, scopesDefault } from "../access/scopes.ts";
import { presentToken, type Token, type TokenJson } from "../access/token.ts";
import { createToken, type Minted, overlapMsDefault, revokeTokens, rotateToken } from "../access/tokens.ts";
import { databaseFlag } from "../config/database.ts";
import { readStoreConfig } from "../config/read-config.ts";
import { openForReading, openTokens } from "../storage/open-store.ts";
import { hourMs } from "../text/duration.ts";
import { oneOf, parseDuration } from "../text/parsers.ts";
import { isoSeconds } from "../text/time.ts";
import { eitherOf } from "../text/words.ts";
import { readFlag, readFlags, wrongUsageError } from "./arguments.ts";
import { type Arguments, type Command, jsonFlag, storeSecrets, storeSettings } from "./command.ts";
import { lostWalWarning } from "./lost-wal.ts";
import { noteOfNewFile } from "./new-data-file.ts";
import { type Column, formatTable } from "./table.ts";
import { escapeInvisible, printJson, type Terminal } from "./terminal.ts";

const columns: readonly Column<TokenJson>[] = [
  { heading: "id", text: ({ id }) => id },
  { heading: "name", text: ({ name }) => name, canBeCut: true },
  {
    heading: "scopes",
    text: (token) => token.scopes.join(" "),
    canBeCut: true,
    roomyColumns: "operator plants:create".length,
  },
  { heading: "createdAt", text: ({ createdAt }, time) => time(createdAt), canBeLeftOut: true },
  {
    heading: "createdBy",
    text: ({ createdBy }) => escapeInvisible(createdBy),
    canBeCut: true,
    canBeLeftOut: true,
  },
  {
    heading: "lastUsedAt",
    text: ({ lastUsedAt }, time) => (lastUsedAt === undefined ? "-" : time(lastUsedAt)),
  },
  { heading: "state", text: stateText },
];

export const tokenCreate: Command = {
  usage: "token create --name NAME",
  summary: "create a token and print its secret once",
  examples: [
    "plant-store token create --name greenhouse",
    "plant-store token create --name ops --scope operator --expires 90d",
    "plant-store token create --name prometheus --scope metrics",
  ],
  flags: {
    name: { placeholder: "NAME", help: "who uses it; stored with each plant that it creates (required)" },
    scope: {
      placeholder: "SCOPE",
      help: `${eitherOf(scopes)}; repeat it for several (${scopesDefault.join(", ")})`,
    },
    expires: { placeholder: "TIME", help: "expire after this long, such as 90d (never)" },
    json: jsonFlag,
  },
  settings: storeSettings,
  secrets: storeSecrets,
  async run(args, terminal) {
    const name = args.value("name");
    if (name === undefined) throw wrongUsageError(tokenCreate);
    const chosen = readFlags(args, "scope", oneOf(scopes));
    const request = {
      name,
      scopes: chosen.length === 0 ? scopesDefault : [...new Set(chosen)],
      lifetimeMs: readFlag(args, "expires", parseDuration),
    };
    const config = readStoreConfig(args.sources);
    const created = noteOfNewFile(config.database);
    await using opened = await openTokens(config, { mayCreate: true });
    terminal.note(created);
    printSecret(await createToken(opened.tokens, request, localOrigin(), Date.now()), "", args, terminal);
    return 0;
  },
};

export const tokenList: Command = {
  usage: "token list",
  summary: "list all tokens, without their secrets",
  examples: ["plant-store token list", "plant-store token list --json"],
  flags: { json: jsonFlag },
  settings: storeSettings,
  secrets: storeSecrets,
  async run(args, terminal) {
    const config = readStoreConfig(args.sources);
    await using opened = await openForReading(config, lostWalWarning(terminal));
    const all = await opened.tokens.all();
    if (args.has("json")) printJson(terminal, presentTokens(all));
    else if (all.length === 0)
      terminal.note(
        `No tokens yet. To create one: plant-store token create --name NAME${databaseFlag(config.database)}\n`,
      );
    else terminal.out(`${formatTable(columns, presentTokens(all), terminal)}\n`);
    return 0;
  },
};

export const tokenRevoke: Command = {
  usage: "token revoke NAME|ID",
  needsPositional: true,
  summary: "revoke a token; every node rejects it within a second",
  examples: ["plant-store token revoke greenhouse"],
  flags: { json: jsonFlag },
  settings: storeSettings,
  secrets: storeSecrets,
  async run(args, terminal) {
    await using opened = await openTokens(readStoreConfig(args.sources), { mayCreate: false });
    const revoked = await revokeTokens(opened.tokens, args.positional, localOrigin(), Date.now());
    if (args.has("json")) printJson(terminal, presentTokens(revoked));
    else terminal.note(`Revoked ${revoked.map(({ id, name }) => `${name} (${id})`).join(", ")}.\n`);
    return 0;
  },
};

export const tokenRotate: Command = {
  usage: "token rotate NAME|ID",
  needsPositional: true,
  summary: "replace a token's secret; the old one stays valid for a while",
  examples: ["plant-store token rotate greenhouse --overlap 24h"],
  flags: {
    overlap: {
      placeholder: "TIME",
      help: `how long the old secret stays valid (${overlapMsDefault / hourMs}h)`,
    },
    json: jsonFlag,
  },
  settings: storeSettings,
  secrets: storeSecrets,
  async run(args, terminal) {
    const overlapMs = readFlag(args, "overlap", parseDuration) ?? overlapMsDefault;
    await using opened = await openTokens(readStoreConfig(args.sources), { mayCreate: false });
    const wanted = { nameOrId: args.positional, overlapMs };
    const rotated = await rotateToken(opened.tokens, wanted, localOrigin(), Date.now());
    const note = `The old secret is valid until ${isoSeconds(rotated.oldValidUntilMs)}.\n`;
    printSecret(rotated, note, args, terminal);
    return 0;
  },
};

/** Only the secret goes to standard output, for `TOKEN=$(plant-store token create …)`. */
function printSecret({ token, secret }: Minted, note: string, args: Arguments, terminal: Terminal): void {
  if (args.has("json")) return printJson(terminal, { ...presentToken(token, Date.now()), secret });
  const expiry = token.expiresAtMs === undefined ? "" : ` until ${isoSeconds(token.expiresAtMs)}`;
  terminal.note(
    `Token ${token.name} (${token.id}) allows ${token.scopes.join(" and ")}${expiry}.\n${note}` +
      "Save the secret now; it is not shown again:\n",
  );
  terminal.out(`${secret}\n`);
}

/** The state, and since or until when. */
function stateText({ state, revokedAt, expiresAt }: TokenJson, time: (iso: string) => string): string {
  const at = revokedAt ?? expiresAt;
  if (at === undefined) return state;
  return state === "live" ? `live until ${time(at)}` : `${state} ${time(at)}`;
}

function presentTokens(tokens: readonly Token[]): TokenJson[] {
  const nowMs = Date.now();
  return tokens.map((token) => presentToken(token, nowMs));
}
