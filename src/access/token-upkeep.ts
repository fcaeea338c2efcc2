import type { FirstToken, FirstTokenIssuer } from "./first-token.ts";
import { findPreset, type Gate, type PresetToken } from "./gate.ts";
import { type PresetWatchEvents, watchPresets } from "./preset-watch.ts";
import { TokenUses, usesFlushEveryMs } from "./token-uses.ts";
import { type TokenWatchEvents, watchTokens } from "./token-watch.ts";
import type { Token, TokenStore, TokenUse } from "./tokens.ts";

/** The threads that have a gate of their own. */
export interface TokenWorkers {
  update(tokens: readonly Token[]): void;
  updatePresets(presets: readonly PresetToken[]): void;
  takeUses(): Promise<readonly TokenUse[]>;
}

export interface TokenUpkeepEvents extends TokenWatchEvents, PresetWatchEvents {
  readonly presetIsStored: (preset: string, stored: string) => void;
  readonly usesNotWritten: (reason: unknown) => void;
}

export interface TokenUpkeepParts {
  readonly tokens: TokenStore;
  readonly gate: Gate;
  readonly workers: TokenWorkers;
  readonly first: FirstTokenIssuer;
  /** Undefined where no preset token comes from a file. */
  readonly rereadPresets: (() => readonly PresetToken[]) | undefined;
  readonly events: TokenUpkeepEvents;
}

// At this rate a revoked token is refused well within a second.
const tokensPollEveryMs = 250;
const presetsPollEveryMs = 500;

/** Keeps every gate of the service up to date with the store and the preset files, and the store with the uses of tokens. */
export class TokenUpkeep implements AsyncDisposable {
  readonly #parts: TokenUpkeepParts;
  readonly #uses: TokenUses;
  readonly #timers: NodeJS.Timeout[] = [];
  #stopped = false;

  constructor(parts: TokenUpkeepParts) {
    this.#parts = parts;
    const { tokens, gate, workers, rereadPresets, events } = parts;
    const collect = async () => [...gate.takeUses(), ...(await workers.takeUses())];
    this.#uses = new TokenUses(tokens, collect, events.usesNotWritten);
    if (rereadPresets === undefined) return;
    const applyPresets = (presets: readonly PresetToken[]): void => {
      gate.updatePresets(presets);
      workers.updatePresets(presets);
    };
    this.#every(presetsPollEveryMs, watchPresets(rereadPresets, gate.presets, applyPresets, events));
  }

  /** Reads the tokens once the store is open, and creates the first one. After a failure it may be called again. */
  async start(): Promise<FirstToken | undefined> {
    const { tokens, gate, first, events } = this.#parts;
    // Before the rows: a change in between is then seen as one that came after.
    const version = await tokens.version();
    const created = gate.presets.length > 0 ? undefined : await first.issue();
    const known = await tokens.all();
    this.#apply(known);
    for (const token of known) {
      const preset = findPreset([token], gate.presets);
      if (preset !== undefined) events.presetIsStored(preset.name, token.name);
    }
    this.#every(
      tokensPollEveryMs,
      watchTokens(tokens, version, (changed) => this.#apply(changed), events),
    );
    this.#every(usesFlushEveryMs, () => this.#uses.flush());
    return created;
  }

  /** Applies a change that this process has made. */
  async reload(): Promise<void> {
    this.#apply(await this.#parts.tokens.all());
  }

  /** Collects what the workers noticed, while they still run. */
  async collectUses(): Promise<void> {
    this.#uses.add(await this.#parts.workers.takeUses());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#uses.flush();
  }

  #apply(tokens: readonly Token[]): void {
    this.#parts.gate.update(tokens);
    this.#parts.workers.update(tokens);
  }

  #every(intervalMs: number, poll: () => unknown): void {
    if (!this.#stopped) this.#timers.push(setInterval(poll, intervalMs));
  }
}
