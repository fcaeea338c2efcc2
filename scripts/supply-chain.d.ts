interface Lock {
  readonly packages: Readonly<Record<string, object>>;
}

interface Shipped {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
}

interface Component {
  readonly type: string;
  readonly "bom-ref": string;
  readonly purl: string;
  readonly scope: string;
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
}

export function shippedPackages(lock: Lock): Shipped[];
export function licenceProblems(lock: Lock): string[];
export function packagesInExecutable(lock: Lock, bundledFiles: readonly string[], bunName: string): Shipped[];
export function licenceTexts(packages: readonly Shipped[]): string;
export function billOfMaterials(
  lock: Lock,
  shipped?: readonly Shipped[],
): {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};
