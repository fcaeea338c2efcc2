import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { describeFileError } from "../system/errors.ts";
import { misuse } from "../system/problem.ts";
import { dayMs } from "../text/duration.ts";
import type { TlsMaterial } from "./wire/wire-server.ts";

export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  /** If set, clients must present a certificate from this authority. */
  readonly clientCa: string | undefined;
}

export interface TlsFiles extends TlsMaterial {
  /** When the certificate expires: the first in its file, which is the server's own. */
  readonly expiresAtMs: number;
}

/**
 * How many days before its expiry a certificate should be renewed; the alert PlantStoreCertificateExpires has the same number.
 */
export const renewalDays = 30;

/** Whether clients accept the certificate, as far as its expiry is concerned. */
export function certificateState(expiresAtMs: number, nowMs: number): "valid" | "expires-soon" | "expired" {
  if (expiresAtMs <= nowMs) return "expired";
  return expiresAtMs <= nowMs + renewalDays * dayMs ? "expires-soon" : "valid";
}

/**
 * Reads the certificate and its key. A changed file takes effect at the next start.
 * @throws Problem
 */
export function readTlsFiles({ cert, key, clientCa }: TlsPaths): TlsFiles {
  const certificate = readCertificate(cert);
  const privateKey = readPem(key, "private key", createPrivateKey);
  if (!certificate.parsed.checkPrivateKey(privateKey.parsed))
    throw misuse(`The key in ${key} does not belong to the certificate in ${cert}.`);
  const authority = clientCa === undefined ? undefined : readCertificate(clientCa);
  return {
    cert: certificate.pem,
    key: privateKey.pem,
    clientCa: authority?.pem,
    expiresAtMs: Date.parse(certificate.parsed.validTo),
  };
}

function readCertificate(path: string) {
  return readPem(path, "certificate", (pem) => new X509Certificate(pem));
}

function readPem<Parsed>(path: string, what: string, parse: (pem: string) => Parsed) {
  let pem: string;
  try {
    pem = readFileSync(path, "utf8");
  } catch (error) {
    throw misuse(`The ${what} ${path} cannot be read: ${describeFileError(error)}.`);
  }
  try {
    return { pem, parsed: parse(pem) };
  } catch {
    throw misuse(`${path} holds no ${what} in PEM format, or one that needs a passphrase.`);
  }
}
