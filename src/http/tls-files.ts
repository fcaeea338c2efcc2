import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { TlsMaterial } from "./wire/wire-server.ts";

export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  /** If set, clients must present a certificate from this authority. */
  readonly clientCa: string | undefined;
}

/** A file for TLS cannot be used, in one sentence for the operator. */
export class TlsProblem extends Error {
  override readonly name = "TlsProblem";
}

/**
 * Reads the certificate and its key. A changed file counts from the next start on.
 * @throws TlsProblem
 */
export function readTlsFiles({ cert, key, clientCa }: TlsPaths): TlsMaterial {
  const material = {
    cert: readPem(cert, "certificate"),
    key: readPem(key, "private key"),
    clientCa: clientCa === undefined ? undefined : readPem(clientCa, "certificate"),
  };
  const certificate = parsed(cert, "certificate", () => new X509Certificate(material.cert));
  const privateKey = parsed(key, "private key", () => createPrivateKey(material.key));
  if (clientCa !== undefined)
    parsed(clientCa, "certificate", () => new X509Certificate(material.clientCa ?? ""));
  if (!certificate.checkPrivateKey(privateKey))
    throw new TlsProblem(`The key in ${key} does not belong to the certificate in ${cert}.`);
  return material;
}

function readPem(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new TlsProblem(`The ${what} ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

function parsed<Result>(path: string, what: string, parse: () => Result): Result {
  try {
    return parse();
  } catch {
    throw new TlsProblem(`${path} holds no ${what} in PEM format, or one that needs a passphrase.`);
  }
}
