import { fetchProvider } from "../../access/oidc/provider.ts";
import type { Config } from "../../config/read-config.ts";
import { isLoopback } from "../../http/client-address.ts";
import { formatAddress } from "../../http/listen-address.ts";
import { clockOffMsMax } from "./check-clock.ts";
import { type Finding, findingsOf } from "./finding.ts";

const fetchMsMax = 5000;

/** Who can reach the listeners, and whether the settings match a proxy in front of them. */
export function checkListeners(config: Config): Finding[] {
  const { listen, operatorListen, baseUrl, trustedProxies, tlsCert } = config;
  const exposed = [listen, operatorListen].filter(
    (address) => address !== undefined && !isLoopback(address.host),
  );
  const listeners = findingsOf("listeners");
  const { warn } = findingsOf("proxy");
  const everyone = trustedProxies.find((network) => network.endsWith("/0"));
  const findings = [
    tlsCert === undefined &&
      exposed.length > 0 &&
      listeners.warn(
        `${exposed.map((address) => address && formatAddress(address)).join(" and ")} can be reached from other machines, without TLS`,
        "Set --tls-cert and --tls-key, or listen on loopback with a TLS proxy in front.",
      ),
    operatorListen !== undefined &&
      !isLoopback(operatorListen.host) &&
      listeners.warn(
        `the console on ${formatAddress(operatorListen)} can be reached from other machines`,
        "Leave --operator-listen on loopback and use an SSH tunnel, unless a firewall or a private network protects it.",
      ),
    baseUrl?.protocol === "http:" &&
      !isLoopback(baseUrl.hostname.replace(/^\[|\]$/g, "")) &&
      warn(
        `--base-url ${baseUrl.href} is not https, so clients send their tokens in plain text`,
        "Use https there.",
      ),
    // A TLS certificate of its own means that clients may connect directly.
    baseUrl !== undefined &&
      trustedProxies.length === 0 &&
      tlsCert === undefined &&
      warn(
        "--base-url suggests a proxy, but --trusted-proxies is not set",
        "Set it to the proxy's address. Otherwise every client has the proxy's address in the log.",
      ),
    everyone !== undefined &&
      warn(
        `--trusted-proxies ${everyone} trusts every client to name its own address`,
        "Name only the proxies.",
      ),
  ].filter((finding) => finding !== false);
  if (findings.length > 0) return findings;
  const scheme = tlsCert === undefined ? "plain HTTP" : "TLS";
  const addresses = [listen, operatorListen].flatMap((address) => (address ? [formatAddress(address)] : []));
  const proxy = trustedProxies.length > 0 ? `; behind ${trustedProxies.join(", ")}` : "";
  return [listeners.ok(`${addresses.join(" and ")}, ${scheme}${proxy}`)];
}

/** The identity provider: its metadata, its keys and its clock. */
export async function checkIssuer(issuer: string): Promise<Finding> {
  const { fail, ok, warn } = findingsOf("issuer");
  try {
    const { keys } = await fetchProvider(issuer, fetch);
    if (keys.length === 0)
      return fail(
        `${issuer} has no public key`,
        "Without one no JWT can be verified; check the provider's configuration.",
      );
    const offMs = await clockOff(issuer);
    const message = `${issuer} responds, with ${keys.length === 1 ? "1 key" : `${keys.length} keys`}`;
    if (offMs !== undefined && Math.abs(offMs) > clockOffMsMax)
      return warn(
        `${message}; its clock differs from ours by ${Math.round(Math.abs(offMs) / 1000)} s`,
        "Have both machines follow a time server, or JWTs are refused as expired or not yet valid.",
      );
    return ok(message);
  } catch (error) {
    return fail(
      (error as Error).message,
      "Check --oidc-issuer, the network and the firewall. Until it responds, no JWT is accepted.",
    );
  }
}

// By its Date header, which has whole seconds.
async function clockOff(issuer: string): Promise<number | undefined> {
  const sentMs = Date.now();
  const response = await fetch(issuer, {
    method: "HEAD",
    redirect: "manual",
    signal: AbortSignal.timeout(fetchMsMax),
  });
  const dateMs = Date.parse(response.headers.get("date") ?? "");
  return Number.isNaN(dateMs) ? undefined : dateMs - (sentMs + Date.now()) / 2;
}
