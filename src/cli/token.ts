import { findPreset } from "../access/gate.ts";
import { isScope, scopes } from "../access/scopes.ts";
import type { TokenStore } from "../access/tokens.ts";
import {
  createToken,
  type Minted,
  revokeTokens,
  rotateToken,
  type Token,
  tokenState,
} from "../access/tokens.ts";
import { type Config, readConfig } from "../config/read-config.ts";
import { InvalidValue, parseDurationMs } from "../config/values.ts";
import { openArchive, openTokens } from "../storage/open-store.ts";
import type { Command } from "./command.ts";
import { type Arguments, type Flag, sources } from "./flags.ts";
import { columns, Misuse, type Terminal } from "./terminal.ts";

const json: Flag = { placeholder: undefined, help: "print JSON" };
const overlapStandard = "1h";

export const tokenCreate: Command = {
  usage: "token create --name NAME",
  summary: "make a token; its secret is printed once",
  examples: [
    "plant-store token create --name greenhouse",
    "plant-store token create --name ops --scope operator --expires 90d",
  ],
  flags: {
    name: { placeholder: "NAME", help: "who holds it; plants remember it (required)" },
    scope: {
      placeholder: "SCOPE",
      multiple: true,
      help: `${scopes.join(" or ")}; may be repeated (plants:create)`,
    },
    expires: { placeholder: "TIME", help: "how long it lives, such as 90d (for ever)" },
    json,
  },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    noWords(args);
    const name = args.value("name");
    if (name === undefined) throw new Misuse("token create needs --name NAME");
    const wanted = args.values("scope");
    const unknown = wanted.find((scope) => !isScope(scope));
    if (unknown !== undefined) throw new Misuse(`--scope takes ${scopes.join(" or ")}; it is "${unknown}"`);
    const request = {
      name,
      scopes: wanted.length === 0 ? (["plants:create"] as const) : [...new Set(wanted.filter(isScope))],
      lifetimeMs: duration(args, "expires"),
    };
    return withTokens(args, terminal, async (tokens) =>
      tellMinted(await createToken(tokens, request, Date.now()), args, terminal, []),
    );
  },
};

export const tokenList: Command = {
  usage: "token list",
  summary: "list the tokens, without their secrets",
  examples: ["plant-store token list", "plant-store token list --json"],
  flags: { json },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    noWords(args);
    await using opened = await openArchive(readConfig(sources(args, terminal)));
    const all = await opened.tokens.all();
    if (args.has("json")) terminal.out(`${JSON.stringify(all.map(shown), null, 2)}\n`);
    else if (all.length === 0)
      terminal.err("There is no token yet; plant-store token create --name NAME makes one.\n");
    else terminal.out(`${columns([["ID", "NAME", "SCOPES", "CREATED", "STATE"], ...all.map(row)])}\n`);
    return 0;
  },
};

export const tokenRevoke: Command = {
  usage: "token revoke NAME|ID",
  summary: "end a token; every node knows within a second",
  examples: ["plant-store token revoke greenhouse"],
  flags: { json },
  settings: ["database", "allowUnsafeDatabase"],
  run: (args, terminal) => {
    const called = onlyWord(args, "token revoke needs the NAME or ID of a token");
    return withTokens(args, terminal, async (tokens, { presetTokens }) => {
      const revoked = await revokeTokens(tokens, called, Date.now());
      if (args.has("json")) terminal.out(`${JSON.stringify(revoked.map(shown), null, 2)}\n`);
      else terminal.err(`Revoked ${revoked.map(({ id, name }) => `${name} (${id})`).join(", ")}.\n`);
      warnOfPreset(revoked, presetTokens, terminal);
    });
  },
};

export const tokenRotate: Command = {
  usage: "token rotate NAME|ID",
  summary: "give a token a new secret; the old one lives on for a while",
  examples: ["plant-store token rotate greenhouse --overlap 24h"],
  flags: {
    overlap: { placeholder: "TIME", help: `how long the old secret lives on (${overlapStandard})` },
    json,
  },
  settings: ["database", "allowUnsafeDatabase"],
  run: (args, terminal) => {
    const called = onlyWord(args, "token rotate needs the NAME or ID of a token");
    const overlapMs = duration(args, "overlap") ?? parseDurationMs(overlapStandard);
    return withTokens(args, terminal, async (tokens, { presetTokens }) => {
      const rotated = await rotateToken(tokens, called, overlapMs, Date.now());
      const untilMs = Math.max(...rotated.ending.map(({ expiresAtMs }) => expiresAtMs));
      tellMinted(rotated, args, terminal, [`The old secret works until ${isoTime(untilMs)}.`]);
      warnOfPreset(rotated.ending, presetTokens, terminal);
    });
  },
};

// Only creating a token may create the data file: for the rest, a path without one is a mistake.
async function withTokens(
  args: Arguments,
  terminal: Terminal,
  work: (tokens: TokenStore, config: Config) => Promise<void>,
): Promise<number> {
  const config = readConfig(sources(args, terminal));
  await using opened = await openTokens(config, { create: args.value("name") !== undefined });
  await work(opened.tokens, config);
  return 0;
}

// This command sees the presets of its own environment only; the service logs those of its own when it starts.
function warnOfPreset(ended: readonly Token[], presets: Config["presetTokens"], terminal: Terminal): void {
  const preset = findPreset(ended, presets);
  if (preset !== undefined)
    terminal.err(
      `The secret is also preset, as ${preset.name}, and keeps ${preset.scopes.join(" and ")} until the service runs without it.\n`,
    );
}

// The secret alone goes to standard output, so that `TOKEN=$(plant-store token create …)` just works.
function tellMinted(
  { token, secret }: Minted,
  args: Arguments,
  terminal: Terminal,
  more: readonly string[],
): void {
  if (args.has("json")) {
    terminal.out(`${JSON.stringify({ ...shown(token), secret }, null, 2)}\n`);
    return;
  }
  const expiry = token.expiresAtMs === undefined ? "" : ` until ${isoTime(token.expiresAtMs)}`;
  const lines = [`Token ${token.name} (${token.id}) allows ${token.scopes.join(" and ")}${expiry}.`, ...more];
  terminal.err(`${lines.join("\n")}\nThe secret is shown once and kept only as a hash:\n`);
  terminal.out(`${secret}\n`);
}

function shown(token: Token) {
  const { id, name, scopes: allowed, createdAtMs, expiresAtMs, revokedAtMs } = token;
  return {
    id,
    name,
    scopes: allowed,
    createdAt: isoTime(createdAtMs),
    expiresAt: expiresAtMs === undefined ? null : isoTime(expiresAtMs),
    revokedAt: revokedAtMs === undefined ? null : isoTime(revokedAtMs),
    state: tokenState(token, Date.now()),
  };
}

function row(token: Token): string[] {
  const { id, name, scopes: allowed, createdAtMs } = token;
  return [id, name, allowed.join(" "), isoTime(createdAtMs), state(token)];
}

function state(token: Token): string {
  const { expiresAtMs, revokedAtMs } = token;
  const word = tokenState(token, Date.now());
  if (revokedAtMs !== undefined) return `${word} ${isoTime(revokedAtMs)}`;
  if (expiresAtMs === undefined) return word;
  return `${word === "live" ? "live until" : word} ${isoTime(expiresAtMs)}`;
}

function isoTime(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z");
}

function duration(args: Arguments, flag: string): number | undefined {
  const text = args.value(flag);
  try {
    return text === undefined ? undefined : parseDurationMs(text);
  } catch (error) {
    throw error instanceof InvalidValue ? new Misuse(`--${flag} ${error.message}; it is "${text}"`) : error;
  }
}

function onlyWord({ words }: Arguments, needed: string): string {
  const [word, ...more] = words;
  if (word === undefined || more.length > 0) throw new Misuse(needed);
  return word;
}

function noWords({ words }: Arguments): void {
  if (words.length > 0) throw new Misuse(`"${words[0]}" is not expected here`);
}
