import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { Config } from "../../config/read-config.ts";
import { readTlsFiles, TlsProblem } from "../../http/tls-files.ts";
import { exposureWarnings } from "../local-files.ts";
import { type Finding, findingsOf } from "./finding.ts";

const dayMs = 86_400_000;
const renewDays = 14;

/** Files with secrets that other users can read. */
export function checkModes(paths: readonly string[]): Finding[] {
  return exposureWarnings(paths).map((warning) => {
    const [message = "", advice = ""] = warning.split("; ");
    return findingsOf("file modes").warn(message, `${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`);
  });
}

/** The certificate: whether it is valid, for how long, and for which name. */
export function checkCertificate({ tlsCert, tlsKey, tlsClientCa, baseUrl, listen }: Config): Finding[] {
  const findings = findingsOf("certificate");
  if (tlsCert === undefined || tlsKey === undefined) return [];
  try {
    readTlsFiles({ cert: tlsCert, key: tlsKey, clientCa: tlsClientCa });
  } catch (error) {
    if (!(error instanceof TlsProblem)) throw error;
    return [
      findings.fail(error.message, "The service does not start with it. Fix the file or its permissions."),
    ];
  }
  const host = (baseUrl?.hostname ?? listen.host).replace(/^\[|\]$/g, "");
  const own = checkOne(findings, tlsCert, host);
  return tlsClientCa === undefined ? [own] : [own, checkOne(findingsOf("client CA"), tlsClientCa, undefined)];
}

function checkOne(
  { fail, ok, warn }: ReturnType<typeof findingsOf>,
  path: string,
  host: string | undefined,
): Finding {
  const certificate = new X509Certificate(readFileSync(path));
  const [fromMs, toMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const to = new Date(toMs).toISOString();
  const replace = `Replace ${path}, and restart the service.`;
  if (toMs < Date.now()) return fail(`${path} expired on ${to}`, replace);
  if (fromMs > Date.now())
    return fail(
      `${path} is valid only from ${new Date(fromMs).toISOString()}`,
      `${replace} Or fix the clock.`,
    );
  if (host !== undefined && !isWildcard(host) && !names(certificate, host))
    return warn(
      `${path} is not for ${host}`,
      "Clients refuse it under that name. Use a certificate with that name, or correct --base-url.",
    );
  const days = Math.floor((toMs - Date.now()) / dayMs);
  if (days < renewDays)
    return warn(`${path} expires in ${days === 1 ? "1 day" : `${days} days`}, on ${to}`, replace);
  return ok(`${path} is valid until ${to}`);
}

function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

function names(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}
