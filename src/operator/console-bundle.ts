import { fileURLToPath } from "node:url";
import htmlFile from "../console/page.html" with { type: "text" };

export interface ConsoleFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly gzip: Uint8Array;
}

// Bun types every .html import as a bundle; imported as text it is a string.
const html = htmlFile as unknown as string;

// The levels above it take twice as long, for a few bytes.
const libdeflateLevel = 10;

const mediaTypes: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

/**
 * The console's files by path, bundled in memory from its source. "/" is the page itself; the others have a hash of
 * their content in their name, so browsers may cache them forever. scripts/build.ts runs this once and replaces it with the
 * result.
 */
export async function bundleConsole(): Promise<ReadonlyMap<string, ConsoleFile>> {
  const built = await Bun.build({
    entrypoints: [ownFile("../console/main.tsx"), ownFile("../style/theme.browser.js")],
    // Explicit, because otherwise the bundler uses the tsconfig.json of the folder that the service was started in.
    tsconfig: ownFile("../console/tsconfig.json"),
    target: "browser",
    format: "esm",
    minify: true,
    sourcemap: "none",
    naming: { entry: "assets/[name]-[hash].[ext]", asset: "assets/[name]-[hash].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
    throw: true,
  });
  const files = new Map<string, ConsoleFile>();
  /** The path of each file by its name without the hash. */
  const paths = new Map<string, string>();
  for (const output of built.outputs) {
    const path = `/${output.path.replace(/^\.?\//, "")}`;
    const extension = path.slice(path.lastIndexOf(".") + 1);
    const type = mediaTypes[extension];
    if (type === undefined) throw new Error(`the console's bundle holds ${path}, whose type is not served`);
    files.set(path, consoleFile(type, new Uint8Array(await output.arrayBuffer())));
    paths.set(path.replace(/^\/assets\/(.+)-\w+(\.\w+)$/, "$1$2"), path);
  }
  const page = html.replaceAll(/\{\{([\w.-]+)\}\}/g, (_, name: string) => {
    const path = paths.get(name);
    if (path === undefined) throw new Error(`the console's bundle has no ${name}, which its page loads`);
    return path;
  });
  files.set("/", consoleFile("text/html; charset=utf-8", new TextEncoder().encode(page)));
  return files;
}

/** Compresses the file, only once, as well as gzip can: libdeflate searches longer than zlib, for 3 % less. */
function consoleFile(type: string, bytes: Uint8Array<ArrayBuffer>): ConsoleFile {
  return { type, bytes, gzip: Bun.gzipSync(bytes, { library: "libdeflate", level: libdeflateLevel }) };
}

function ownFile(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
