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

/** @throws Problem if the listeners could not be bound to their addresses now, each of them or both together. */
export async function refuseAddressesInUse(
  listen: Address,
  operatorListen: Address | undefined,
): Promise<void> {
  await refuseAddressInUse(listen, "public");
  if (operatorListen === undefined) return;
  await refuseAddressInUse(operatorListen, "operator");
  await refuseConflictOfFree(listen, operatorListen);
}

/** @throws Problem if each of the addresses is free, but not both together. */
export async function refuseConflict(listen: Address, operatorListen: Address): Promise<void> {
  const areFree =
    (await whyNotBound(listen)) === undefined && (await whyNotBound(operatorListen)) === undefined;
  if (areFree) await refuseConflictOfFree(listen, operatorListen);
}

/**
 * Each of the addresses is free, but they may be the same, or one may be a wildcard that includes the other.
 * @throws Problem if they are.
 */
async function refuseConflictOfFree(listen: Address, operatorListen: Address): Promise<void> {
  if (listen.port === 0 || listen.port !== operatorListen.port) return;
  await using _bound = await bind(listen);
  if ((await whyNotBound(operatorListen)) === undefined) return;
  throw new Problem(
    `--listen ${formatAddress(listen)} and --operator-listen ${formatAddress(operatorListen)} conflict; choose another port for one of them.`,
  );
}

async function refuseAddressInUse(address: Address, listener: ListenerName): Promise<void> {
  const error = await whyNotBound(address);
  if (error !== undefined) throw listenProblem(error, address, listener);
}

/** Why a listener cannot be bound there: listens for an instant. Undefined if the address is free. */
export async function whyNotBound(address: Address): Promise<unknown> {
  try {
    await using _bound = await bind(address);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Listens there until it is disposed of. */
async function bind({ host, port }: Address): Promise<AsyncDisposable> {
  const server = createServer();
  const listening = once(server, "listening");
  server.listen({ host, port, exclusive: true });
  await listening;
  return {
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
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
