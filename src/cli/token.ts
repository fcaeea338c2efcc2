import { localOrigin } from "../access/local-user.ts";
import { scopes, scopesDefault } from "../access/scopes.ts";
import { presentToken, type Token, type TokenJson } from "../access/token.ts";
import { createToken, type Minted, overlapMsDefault, revokeTokens, rotateToken } from "../access/tokens.ts";
import { databaseFlag } from "../config/database.ts";
import { readConfig } from "../config/read-config.ts";
import { hourMs } from "../text/duration.ts";
import { expecting, oneOf, parseDuration } from "../text/parsers.ts";
import { isoSeconds } from "../text/time.ts";
import { eitherOf } from "../text/words.ts";
import { command, defaultingTo, flag, jsonFlag, repeatedFlag, required } from "./command.ts";
import { reading, tokens, tokensOfAnyStore } from "./openings.ts";
import { type Column, formatTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const columns: readonly Column<Token>[] = [
  { heading: "id", cell: ({ id }) => id },
  { heading: "state", cell: (token) => presentToken(token, Date.now()).state },
  { heading: "until", cell: ({ revokedAtMs, expiresAtMs }) => revokedAtMs ?? expiresAtMs },
  { heading: "lastUsedAt", cell: ({ lastUsedAtMs }) => lastUsedAtMs },
  { heading: "name", cell: ({ name }) => name, isFreeText: true },
  { heading: "scopes", cell: (token) => token.scopes.join(" "), isFreeText: true },
  { heading: "createdBy", cell: ({ createdBy }) => createdBy, isFreeText: true },
];

const parseNewName = expecting("must be a name, such as greenhouse", (text) => text || undefined);

export const tokenCreate = command({
  summary: "create a token and print its secret once",
  examples: [
    "plant-store token create --name greenhouse",
    "plant-store token create --name ops --scope operator --expires 90d",
    "plant-store token create --name prometheus --scope metrics",
  ],
  flags: {
    name: required(flag("NAME", "who uses it; stored with each plant that it creates", parseNewName)),
    scope: repeatedFlag(
      "SCOPE",
      `${eitherOf(scopes)}; repeat it for several (${scopesDefault.join(", ")})`,
      oneOf(scopes),
    ),
    expires: flag("TIME", "expire after this long, such as 90d (never)", parseDuration),
    json: jsonFlag,
  },
  opens: tokensOfAnyStore,
  async run({ flags: { name, scope, expires: lifetimeMs, json }, opened }, terminal) {
    const chosen = scope.length === 0 ? scopesDefault : [...new Set(scope)];
    const request = { name, scopes: chosen, lifetimeMs };
    printMinted(await createToken(opened.tokens, request, localOrigin(), Date.now()), json, terminal);
    return true;
  },
});

export const tokenList = command({
  summary: "list all tokens, without their secrets",
  examples: ["plant-store token list", "plant-store token list --json"],
  flags: { json: jsonFlag },
  opens: reading,
  async run({ flags: { json }, opened: store, sources }, terminal) {
    const all = await store.tokens.all();
    const database = databaseFlag(readConfig(sources).database);
    if (json) terminal.printJson(presentTokens(all));
    else if (all.length === 0)
      terminal.note(`No tokens yet. To create one:\n  plant-store token create --name NAME${database}\n`);
    else terminal.out(`${formatTable(columns, all, terminal)}\n`);
    return true;
  },
});

export const tokenRevoke = command({
  summary: "revoke a token; every node rejects it within a second",
  examples: ["plant-store token revoke greenhouse"],
  flags: { json: jsonFlag },
  argument: { name: "NAME|ID", parse: String },
  opens: tokens,
  async run({ flags: { json }, argument, opened }, terminal) {
    const revoked = await revokeTokens(opened.tokens, argument, localOrigin(), Date.now());
    if (json) terminal.printJson(presentTokens(revoked));
    else terminal.note(`Revoked ${revoked.map(({ id, name }) => `${name} (${id})`).join(", ")}.\n`);
    return true;
  },
});

export const tokenRotate = command({
  summary: "replace a token's secret; the old one stays valid for a while",
  examples: ["plant-store token rotate greenhouse --overlap 24h"],
  flags: {
    overlap: defaultingTo(
      `${overlapMsDefault / hourMs}h`,
      flag("TIME", "how long the old secret stays valid", parseDuration),
    ),
    json: jsonFlag,
  },
  argument: { name: "NAME|ID", parse: String },
  opens: tokens,
  async run({ flags: { overlap: overlapMs, json }, argument: nameOrId, opened }, terminal) {
    const rotated = await rotateToken(opened.tokens, { nameOrId, overlapMs }, localOrigin(), Date.now());
    if (!json) terminal.note(`The old secret is valid until ${isoSeconds(rotated.oldValidUntilMs)}.\n`);
    printMinted(rotated, json, terminal);
    return true;
  },
});

/** Only the secret goes to standard output, for `TOKEN=$(plant-store token create …)`. */
function printMinted({ token, secret }: Minted, json: boolean, terminal: Terminal): void {
  const { id, name, scopes: allowed, expiresAtMs } = token;
  if (json) return terminal.printJson({ ...presentToken(token, Date.now()), secret });
  const expiry = expiresAtMs === undefined ? "" : ` until ${isoSeconds(expiresAtMs)}`;
  terminal.note(
    `Token ${name} (${id}) allows ${allowed.join(" and ")}${expiry}.\nSave the secret now; it is not shown again:\n`,
  );
  terminal.out(`${secret}\n`);
}

function presentTokens(all: readonly Token[]): TokenJson[] {
  const nowMs = Date.now();
  return all.map((token) => presentToken(token, nowMs));
}
