import { minuteMs } from "../text/duration.ts";
import { type FirstToken, type FirstTokenOptions, issueFirstToken, mintFirstToken } from "./first-token.ts";
import type { Gate } from "./gate.ts";
import type { Token } from "./token.ts";
import { tokensPollEveryMs } from "./tokens.ts";

export interface TokenEvents {
  tokensChanged(count: number): void;
  tokensUnreadable(reason: unknown): void;
  presetIsStored(preset: string, stored: string): void;
  usesNotWritten(reason: unknown): void;
}

export interface TokenUpkeepOptions extends FirstTokenOptions {
  readonly gate: Gate;
  readonly events: TokenEvents;
}

const usesWrittenEveryMs = minuteMs;

/** Keeps the gate up to date with the store, and the store with the uses of tokens. */
export class TokenUpkeep implements AsyncDisposable {
  readonly #options: TokenUpkeepOptions;
  readonly #first = mintFirstToken();
  readonly #timers: NodeJS.Timeout[] = [];
  /** A poll may end after the stop, when the store is closed, and "stopped" is the last line of the log. */
  #isStopped = false;
  /**
   * The version of the stored tokens that the gate has. It is read before them: a change in between is then found by the next
   * poll.
   */
  #version = "";
  #isPolling = false;
  /** The uses that are being written. */
  #writing: Promise<void> = Promise.resolve();
  #isReadable = true;

  constructor(options: TokenUpkeepOptions) {
    this.#options = options;
  }

  /** Reads the tokens once the store is open, and creates the first one. After a failure it may be called again. */
  async start(): Promise<FirstToken | undefined> {
    const { tokens, gate, events } = this.#options;
    this.#version = await tokens.version();
    const created = gate.presets.length > 0 ? undefined : await issueFirstToken(this.#options, this.#first);
    for (const token of await this.reload()) {
      const preset = gate.presets.find(({ digest }) => digest === token.digest);
      if (preset !== undefined) events.presetIsStored(preset.name, token.name);
    }
    if (this.#isStopped) return created;
    this.#timers.push(setInterval(() => this.#poll(), tokensPollEveryMs));
    this.#timers.push(setInterval(() => void this.#writeUses(), usesWrittenEveryMs));
    return created;
  }

  /** The tokens that are stored now, with their uses that are not written yet. */
  async all(): Promise<readonly Token[]> {
    const { tokens, gate } = this.#options;
    const stored = await tokens.all();
    return stored.map((token) => ({
      ...token,
      lastUsedAtMs: gate.uses.get(token.digest) ?? token.lastUsedAtMs,
    }));
  }

  /** Gives the gate the tokens that are stored now. */
  async reload(): Promise<readonly Token[]> {
    const { tokens, gate } = this.#options;
    try {
      const stored = await tokens.all();
      gate.update(stored);
      return stored;
    } catch (error) {
      // On SQLite, a change by this process is no new version. No version is empty, so the next poll reads the tokens.
      this.#version = "";
      throw error;
    }
  }

  /** Reads the tokens again after a change that this process has made; if they cannot be read now, a later poll reads them. */
  async reloadOrPollLater(): Promise<void> {
    await this.reload().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#writeUses();
  }

  /** Tells the gate of every change of the stored tokens, whoever made it. */
  async #poll(): Promise<void> {
    const { tokens, events } = this.#options;
    // A slow database gets one query at a time, and an outage is logged once.
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      const version = await tokens.version();
      if (version !== this.#version) {
        // Set first, since a reload that fails meanwhile clears it.
        this.#version = version;
        const stored = await this.reload();
        events.tokensChanged(stored.length);
      }
      this.#isReadable = true;
    } catch (error) {
      if (this.#isReadable && !this.#isStopped) events.tokensUnreadable(error);
      this.#isReadable = false;
    } finally {
      this.#isPolling = false;
    }
  }

  /** Writes the uses after those that are being written: whoever waits for this waits for all of them. */
  #writeUses(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeUsesNow());
    return this.#writing;
  }

  /** Uses that cannot be written are lost: a token that is in use will be used again. */
  async #writeUsesNow(): Promise<void> {
    const { tokens, gate, events } = this.#options;
    const uses = gate.takeUses();
    if (uses.length > 0) await tokens.recordUses(uses).catch(events.usesNotWritten);
  }
}
