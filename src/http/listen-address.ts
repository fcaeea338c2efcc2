import { once } from "node:events";
import { createServer } from "node:net";
import { codeOf, messageOf } from "../system/errors.ts";
import type { Address } from "../system/ip-address.ts";
import { Problem } from "../system/problem.ts";
import type { ListenerName } from "../telemetry/metrics.ts";

// What the operator can do if another process listens there.
const inUseRemedies: Readonly<Record<ListenerName, string>> = {
  public: "stop it, or choose another --listen address",
  operator: "choose another --operator-listen address, or off",
};

export function listenProblem(error: unknown, address: Address, listener: ListenerName): Problem {
  const shown = formatAddress(address);
  if (codeOf(error) === "EADDRINUSE")
    return new Problem(`${shown} is in use by another process; ${inUseRemedies[listener]}.`);
  return new Problem(
    `${shown} cannot be listened on: ${messageOf(error)}. The host must be an address of this machine, and a low port may need privileges.`,
  );
}

/** @throws Problem if a listener could not be bound there now. */
export async function refuseAddressInUse(address: Address, listener: ListenerName): Promise<void> {
  const error = await whyNotBound(address);
  if (error !== undefined) throw listenProblem(error, address, listener);
}

/** Why a listener cannot be bound there: listens for an instant. Undefined if the address is free. */
export async function whyNotBound({ host, port }: Address): Promise<unknown> {
  const server = createServer();
  try {
    const listening = once(server, "listening");
    server.listen({ host, port, exclusive: true });
    await listening;
  } catch (error) {
    return error;
  }
  await new Promise((resolve) => server.close(resolve));
  return undefined;
}

/** Writes an address as a setting has it: `127.0.0.1:3000`, `[::1]:3000`. */
export function formatAddress({ host, port }: Address): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** What a listener is bound to. */
export interface Bound extends Address {
  /** Whether it is TLS, in which case the scheme is https. */
  readonly isSecure: boolean;
}

/** Where a listener is reached, without a trailing slash: a wildcard host is replaced by one that can be reached. */
export function reachableUrl(baseUrl: URL | undefined, { host, port, isSecure }: Bound): string {
  const scheme = isSecure ? "https" : "http";
  const boundUrl = `${scheme}://${formatAddress({ host: reachableHost(host), port })}`;
  return (baseUrl?.href ?? boundUrl).replace(/\/+$/, "");
}

/** A wildcard can be listened on, but not connected to. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "::1";
  return host;
}
