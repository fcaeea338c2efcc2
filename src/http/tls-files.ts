import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
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

interface Watcher {
  readonly onChange: (material: TlsMaterial) => void;
  readonly onProblem: (reason: string) => void;
}

const lookEveryMs = 500;

/** The files of a listener's certificate and key, read again when they change. */
export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly material: TlsMaterial;
  #loaded: string;
  #seen: string;

  /** @throws TlsProblem */
  constructor(paths: TlsPaths) {
    this.#paths = paths;
    // Before the files: a change in between is then detected later.
    this.#loaded = fingerprint(paths);
    this.#seen = this.#loaded;
    this.material = readMaterial(paths);
  }

  /** Returns a function that stops it. Unusable files are reported once, and those in use stay. */
  watch({ onChange, onProblem }: Watcher): () => void {
    const timer = setInterval(() => {
      if (!this.#hasSettled()) return;
      try {
        onChange(readMaterial(this.#paths));
      } catch (error) {
        onProblem((error as Error).message);
      }
    }, lookEveryMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  // Certificate and key are written one after the other, so they are read once they have stopped changing.
  #hasSettled(): boolean {
    const before = this.#seen;
    this.#seen = fingerprint(this.#paths);
    if (this.#seen !== before || this.#seen === this.#loaded) return false;
    this.#loaded = this.#seen;
    return true;
  }
}

function readMaterial({ cert, key, clientCa }: TlsPaths): TlsMaterial {
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

function fingerprint({ cert, key, clientCa }: TlsPaths): string {
  return [cert, key, clientCa].map((path) => (path === undefined ? "" : fileVersion(path))).join();
}

function fileVersion(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined
    ? "none"
    : `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
}
