import {
  type FirstToken,
  type FirstTokenDelivery,
  issueFirstToken,
  mintFirstToken,
  type WriteNew,
} from "./first-token.ts";
import { findPreset, type Gate } from "./gate.ts";
import type { TokenStore } from "./tokens.ts";

export interface TokenUpkeepEvents {
  readonly tokensChanged: (count: number) => void;
  readonly tokensUnreadable: (reason: unknown) => void;
  readonly presetIsStored: (preset: string, stored: string) => void;
  readonly usesNotWritten: (reason: unknown) => void;
}

export interface TokenUpkeepParts {
  readonly tokens: TokenStore;
  readonly gate: Gate;
  readonly delivery: FirstTokenDelivery;
  readonly writeNew: WriteNew;
  readonly events: TokenUpkeepEvents;
}

// At this rate a revoked token is refused well within a second.
const tokensPollEveryMs = 250;
const usesWrittenEveryMs = 60_000;

/** Keeps the gate up to date with the store, and the store with the uses of tokens. */
export class TokenUpkeep implements AsyncDisposable {
  readonly #parts: TokenUpkeepParts;
  readonly #first = mintFirstToken();
  readonly #timers: NodeJS.Timeout[] = [];
  #stopped = false;
  /** The version of the stored tokens that the gate has. */
  #version = "";
  #polling = false;
  #readable = true;

  constructor(parts: TokenUpkeepParts) {
    this.#parts = parts;
  }

  /** Reads the tokens once the store is open, and creates the first one. After a failure it may be called again. */
  async start(): Promise<FirstToken | undefined> {
    const { tokens, gate, delivery, writeNew, events } = this.#parts;
    // Before the rows: a change in between is then found by the next poll.
    this.#version = await tokens.version();
    const created =
      gate.presets.length > 0 ? undefined : await issueFirstToken(tokens, this.#first, delivery, writeNew);
    const known = await tokens.all();
    gate.update(known);
    for (const token of known) {
      const preset = findPreset([token], gate.presets);
      if (preset !== undefined) events.presetIsStored(preset.name, token.name);
    }
    if (this.#stopped) return created;
    this.#timers.push(setInterval(() => this.#poll(), tokensPollEveryMs));
    this.#timers.push(setInterval(() => this.#writeUses(), usesWrittenEveryMs));
    return created;
  }

  /** Applies a change that this process has made. */
  async reload(): Promise<void> {
    this.#parts.gate.update(await this.#parts.tokens.all());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#writeUses();
  }

  /** Tells the gate of every change of the stored tokens, whoever made it. */
  async #poll(): Promise<void> {
    const { tokens, gate, events } = this.#parts;
    // A slow database gets one query at a time, and an outage is logged once.
    if (this.#polling) return;
    this.#polling = true;
    try {
      // Before the rows: a change in between is then found by the next poll.
      const version = await tokens.version();
      if (version !== this.#version) {
        const all = await tokens.all();
        gate.update(all);
        this.#version = version;
        events.tokensChanged(all.length);
      }
      this.#readable = true;
    } catch (error) {
      if (this.#readable) events.tokensUnreadable(error);
      this.#readable = false;
    } finally {
      this.#polling = false;
    }
  }

  /** What cannot be written now is written with the next ones. */
  async #writeUses(): Promise<void> {
    const { tokens, gate, events } = this.#parts;
    const uses = gate.takeUses();
    try {
      if (uses.length > 0) await tokens.recordUses(uses);
    } catch (error) {
      gate.putBackUses(uses);
      events.usesNotWritten(error);
    }
  }
}
