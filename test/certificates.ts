import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** A certificate authority for one test, in its own folder. */
export class Authority {
  readonly #folder: string;
  readonly #name: string;
  readonly path: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    this.path = join(folder, `${name}.pem`);
    openssl(
      "req",
      "-x509",
      ...newKey(this.#keyOf(name)),
      "-subj",
      `/CN=${name}`,
      "-days",
      "2",
      "-out",
      this.path,
    );
  }

  /** Issues a certificate for 127.0.0.1 and localhost. */
  issue(name: string): { readonly cert: string; readonly key: string } {
    const [cert, key, request] = [
      join(this.#folder, `${name}.pem`),
      this.#keyOf(name),
      join(this.#folder, `${name}.csr`),
    ];
    const extensions = join(this.#folder, "extensions");
    writeFileSync(extensions, "subjectAltName=IP:127.0.0.1,DNS:localhost");
    openssl("req", ...newKey(key), "-subj", `/CN=${name}`, "-out", request);
    const signer = ["-CA", this.path, "-CAkey", this.#keyOf(this.#name), "-CAcreateserial"];
    openssl("x509", "-req", "-in", request, ...signer, "-days", "2", "-extfile", extensions, "-out", cert);
    return { cert, key };
  }

  #keyOf(name: string): string {
    return join(this.#folder, `${name}.key`);
  }
}

function newKey(path: string): string[] {
  return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path];
}

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { stdio: "pipe" });
}
