import type { PresetToken } from "./gate.ts";

export interface PresetWatchEvents {
  readonly presetsChanged: (names: string) => void;
  readonly presetsUnreadable: (reason: string) => void;
}

/** Returns a poll function, which reports every change of the files that preset tokens come from. */
export function watchPresets(
  reread: () => readonly PresetToken[],
  first: readonly PresetToken[],
  onChange: (presets: readonly PresetToken[]) => void,
  events: PresetWatchEvents,
): () => void {
  let seen = JSON.stringify(first);
  let lastProblem: string | undefined;
  return () => {
    try {
      const presets = reread();
      lastProblem = undefined;
      const now = JSON.stringify(presets);
      if (now === seen) return;
      seen = now;
      onChange(presets);
      events.presetsChanged(presets.map(({ name }) => name).join(", "));
    } catch (error) {
      // A file that is being replaced may be missing or half written; the known tokens stay, and each reason is logged once.
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== lastProblem) events.presetsUnreadable(reason);
      lastProblem = reason;
    }
  };
}
