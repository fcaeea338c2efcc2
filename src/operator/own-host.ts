import { isIP } from "node:net";

const portMax = 65_535;

/**
 * Whether a Host header is one that this listener answers to: an IP address, localhost, or one of these names. A page
 * that a browser loaded from elsewhere could have its own name point here (DNS rebinding), but never one of these.
 */
export function isOwnHost(header: string | undefined, names: readonly string[]): boolean {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(header ?? "");
  if (Number(match?.[3] ?? 0) > portMax) return false;
  const name = (match?.[1] ?? match?.[2] ?? "").toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost") || isIP(name) !== 0) return true;
  return name !== "" && names.includes(name);
}
