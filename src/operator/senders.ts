import { isLive, type Token } from "../access/token.ts";
import type { Sender } from "../telemetry/senders.ts";
import { minuteMs } from "../text/duration.ts";
import { isoTime } from "../text/time.ts";

interface Listed extends Sender {
  /** When one of its tokens was last used, if it has sent nothing since the start. */
  readonly lastUsedAtMs?: number | undefined;
}

/**
 * The senders that this node has heard of, and the live tokens that may send plants and have not since its start. Who sent last
 * is first, to the minute and then by name: those who keep sending keep their places.
 */
export function listSenders(heard: readonly Sender[], tokens: readonly Token[], nowMs: number) {
  const heardNames = new Set(heard.map(({ name }) => name));
  const silent = new Map<string, Listed>();
  for (const token of tokens) {
    const { name } = token;
    if (!isLive(token, nowMs) || !token.scopes.includes("plants:create") || heardNames.has(name)) continue;
    // While a token is rotated, two have its name.
    const lastUsedAtMs = Math.max(token.lastUsedAtMs ?? 0, silent.get(name)?.lastUsedAtMs ?? 0) || undefined;
    silent.set(name, {
      name,
      lastPlantAtMs: undefined,
      refusals: 0,
      lastRefusalAtMs: undefined,
      lastUsedAtMs,
    });
  }
  return [...heard, ...silent.values()]
    .sort((one, other) => ageOf(one, nowMs) - ageOf(other, nowMs) || (one.name < other.name ? -1 : 1))
    .map(presentSender);
}

/** How many minutes ago it sent something. */
function ageOf({ lastPlantAtMs, lastRefusalAtMs, lastUsedAtMs }: Listed, nowMs: number): number {
  const atMs = lastPlantAtMs ?? lastRefusalAtMs ?? lastUsedAtMs ?? 0;
  return Math.max(0, Math.floor((nowMs - atMs) / minuteMs));
}

function presentSender({ name, lastPlantAtMs, refusals, lastRefusalAtMs, lastUsedAtMs }: Listed) {
  return {
    name,
    lastPlantAt: isoTime(lastPlantAtMs),
    refusals,
    lastRefusalAt: isoTime(lastRefusalAtMs),
    lastUsedAt: isoTime(lastUsedAtMs),
  };
}
