import { readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { codeOf, messageOf } from "../system/errors.ts";
import { localOrigin } from "./audit.ts";
import type { Gate } from "./gate.ts";
import { creationEntry, type Minted, mintToken, type Token, type TokenStore } from "./tokens.ts";

/** How the first token reaches the operator: printed, in a file, or not at all, with the reason. */
export type FirstToken =
  | { readonly secret: string }
  | { readonly file: string }
  | { readonly problem: string };

/** `print`, the path of a file to write, or undefined if there is neither. */
export type FirstTokenDelivery = "print" | { readonly file: string } | undefined;

export interface TokenUpkeepOptions {
  readonly tokens: TokenStore;
  readonly gate: Gate;
  readonly delivery: FirstTokenDelivery;
  /** Creates a file that is complete and for its owner alone, and replaces none. */
  readonly writeNew: (file: string, text: string) => void;
  readonly events: {
    readonly tokensChanged: (count: number) => void;
    readonly tokensUnreadable: (reason: unknown) => void;
    readonly presetIsStored: (preset: string, stored: string) => void;
    readonly usesNotWritten: (reason: unknown) => void;
  };
}

// At this rate a revoked token is refused well within a second.
const tokensPollEveryMs = 250;
const usesWrittenEveryMs = 60_000;
const howToCreate = "Create one: plant-store token create --name NAME --scope operator --scope plants:create";

/** Keeps the gate up to date with the store, and the store with the uses of tokens. */
export class TokenUpkeep implements AsyncDisposable {
  readonly #options: TokenUpkeepOptions;
  readonly #first = mintFirstToken();
  readonly #timers: NodeJS.Timeout[] = [];
  #stopped = false;
  /** The version of the stored tokens that the gate has. */
  #version = "";
  #polling = false;
  #readable = true;

  constructor(options: TokenUpkeepOptions) {
    this.#options = options;
  }

  /** Reads the tokens once the store is open, and creates the first one. After a failure it may be called again. */
  async start(): Promise<FirstToken | undefined> {
    const { tokens, gate, events } = this.#options;
    // Before the rows: a change in between is then found by the next poll.
    this.#version = await tokens.version();
    const created = gate.presets.length > 0 ? undefined : await issueFirstToken(this.#options, this.#first);
    for (const token of await this.reload()) {
      const preset = gate.presets.find(({ digest }) => digest === token.digest);
      if (preset !== undefined) events.presetIsStored(preset.name, token.name);
    }
    if (this.#stopped) return created;
    this.#timers.push(setInterval(() => this.#poll(), tokensPollEveryMs));
    this.#timers.push(setInterval(() => this.#writeUses(), usesWrittenEveryMs));
    return created;
  }

  /** Reads the tokens, also after a change that this process has made. */
  async reload(): Promise<readonly Token[]> {
    const all = await this.#options.tokens.all();
    this.#options.gate.update(all);
    return all;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#writeUses();
  }

  /** Tells the gate of every change of the stored tokens, whoever made it. */
  async #poll(): Promise<void> {
    const { tokens, events } = this.#options;
    // A slow database gets one query at a time, and an outage is logged once.
    if (this.#polling) return;
    this.#polling = true;
    try {
      // Before the rows: a change in between is then found by the next poll.
      const version = await tokens.version();
      if (version !== this.#version) events.tokensChanged((await this.reload()).length);
      this.#version = version;
      this.#readable = true;
    } catch (error) {
      if (this.#readable) events.tokensUnreadable(error);
      this.#readable = false;
    } finally {
      this.#polling = false;
    }
  }

  /** What cannot be written is lost: a token that is in use is used again. */
  async #writeUses(): Promise<void> {
    const { tokens, gate, events } = this.#options;
    const uses = gate.takeUses();
    if (uses.length > 0) await tokens.recordUses(uses).catch(events.usesNotWritten);
  }
}

/** In the folder, if there is one, or else beside the data file. */
export function firstTokenFile(folder: string | undefined, dataFile: string | undefined): FirstTokenDelivery {
  if (folder !== undefined) return { file: join(resolve(folder), "first-token") };
  return dataFile === undefined ? undefined : { file: `${resolve(dataFile)}.first-token` };
}

export function mintFirstToken(): Minted {
  const fields = { name: "first", scopes: ["plants:create", "operator"] } as const;
  const createdBy = localOrigin().actor;
  return mintToken({ ...fields, createdBy, expiresAtMs: undefined }, Date.now());
}

/**
 * Stores the token of a store that has never had one, and delivers it. Undefined if there is a token already. After a failure, whose outcome may be unknown, it may be called again with the same token.
 */
export async function issueFirstToken(
  { tokens, delivery, writeNew }: Pick<TokenUpkeepOptions, "tokens" | "delivery" | "writeNew">,
  { token, secret }: Minted,
): Promise<FirstToken | undefined> {
  if ((await tokens.all()).length === 0) {
    if (delivery === undefined)
      return { problem: `There is no token yet, and no --token-folder to write one to. ${howToCreate}` };
    // Before the token is stored: a stored token whose secret nobody has would be useless.
    const problem = delivery === "print" ? undefined : writeSecret(delivery.file, secret, writeNew);
    if (problem !== undefined) return { problem };
    await tokens.addFirst(token, creationEntry(token, localOrigin()));
  }
  const isOurs = (await tokens.all()).some(({ digest }) => digest === token.digest);
  if (isOurs) return typeof delivery === "object" ? delivery : { secret };
  if (typeof delivery === "object" && holds(delivery.file, secret)) rmSync(delivery.file, { force: true });
  return undefined;
}

/** The reason if it cannot be written. */
function writeSecret(
  file: string,
  secret: string,
  writeNew: TokenUpkeepOptions["writeNew"],
): string | undefined {
  try {
    writeNew(file, `${secret}\n`);
    return undefined;
  } catch (error) {
    const exists = codeOf(error) === "EEXIST";
    if (exists && holds(file, secret)) return undefined;
    const reason = exists ? "it exists already" : messageOf(error);
    return `There is no token yet, and the file ${file} cannot be created for one: ${reason}. ${howToCreate}`;
  }
}

function holds(file: string, secret: string): boolean {
  try {
    return readFileSync(file, "utf8") === `${secret}\n`;
  } catch {
    return false;
  }
}
