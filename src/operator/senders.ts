import { isLive, type Token } from "../access/token.ts";
import type { Sender } from "../telemetry/senders.ts";
import { minuteMs } from "../text/duration.ts";
import { isoTime } from "../text/time.ts";

interface Listed extends Sender {
  readonly lastUsedAtMs: number | undefined;
}

/**
 * The senders that this node has heard of, and the live tokens that may send plants and have not since its start. Who sent last
 * is first, to the minute and then by name: those who keep sending keep their places.
 */
export function listSenders(heard: readonly Sender[], tokens: readonly Token[], nowMs: number) {
  const listed = new Map<string, Listed>();
  for (const sender of heard) listed.set(sender.name, { ...sender, lastUsedAtMs: undefined });
  const silent = tokens.filter(
    (token) => isLive(token, nowMs) && token.scopes.includes("plants:create") && !listed.has(token.name),
  );
  // While a token is rotated, two have its name.
  for (const { name, lastUsedAtMs } of silent) {
    const other = listed.get(name)?.lastUsedAtMs ?? 0;
    listed.set(name, { ...unheard(name), lastUsedAtMs: Math.max(lastUsedAtMs ?? 0, other) || undefined });
  }
  return [...listed.values()]
    .sort((one, other) => ageOf(one, nowMs) - ageOf(other, nowMs) || (one.name < other.name ? -1 : 1))
    .map(presentSender);
}

function unheard(name: string): Sender {
  return { name, lastPlantAtMs: undefined, refusals: 0, lastRefusalAtMs: undefined };
}

/** How many minutes ago it sent something. */
function ageOf({ lastPlantAtMs, lastRefusalAtMs, lastUsedAtMs }: Listed, nowMs: number): number {
  const atMs = lastPlantAtMs ?? lastRefusalAtMs ?? lastUsedAtMs ?? 0;
  return Math.max(0, Math.floor((nowMs - atMs) / minuteMs));
}

function presentSender(sender: Listed) {
  return {
    name: sender.name,
    lastPlantAt: isoTime(sender.lastPlantAtMs),
    refusals: sender.refusals,
    lastRefusalAt: isoTime(sender.lastRefusalAtMs),
    lastUsedAt: isoTime(sender.lastUsedAtMs),
  };
}
