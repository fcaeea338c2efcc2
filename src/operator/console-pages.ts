import { Refused } from "./call.ts";
import { bundleConsole, type ConsoleFile } from "./console-bundle.ts";

// Nothing from elsewhere, nothing inline, and no one else's frame: a token typed here can go nowhere else.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The console: one page for all of its paths, and the files it is made of. Built when first asked for. */
export function consolePage(): (request: Request) => Promise<Response> {
  let bundle: Promise<ReadonlyMap<string, ConsoleFile>> | undefined;
  return async (request) => {
    const { pathname } = new URL(request.url);
    bundle ??= bundleConsole();
    const files = await bundle.catch((error: unknown) => {
      bundle = undefined;
      throw error;
    });
    const isAsset = pathname.startsWith("/assets/");
    const file = files.get(isAsset ? pathname : "/");
    if (file === undefined)
      throw new Refused("no-such-path", `There is nothing at ${pathname.slice(0, 100)}.`);
    return new Response(file.bytes as Uint8Array<ArrayBuffer>, {
      headers: {
        "Content-Type": file.type,
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        // An asset's name changes with its content.
        "Cache-Control": isAsset ? "public, max-age=31536000, immutable" : "no-store",
      },
    });
  };
}
