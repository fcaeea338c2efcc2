import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const prefix = "pst_";
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomBytesCount = 32;
// 62^43 is the first power of 62 above 2^256, and 62^6 the first above 2^32.
const randomDigits = 43;
const checksumDigits = 6;
const mintedShape = /^pst_[0-9A-Za-z]{49}$/;
/** The shape of RFC 6750's b64token, which has the only characters that can follow `Bearer`. */
export const bearerShape = /^[A-Za-z0-9\-._~+/]+=*$/;
/** The shape of a JWT: three parts in base64url. The last may be empty, so that an unsigned one is refused as a JWT. */
export const jwtShape = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** A new secret: `pst_`, 256 random bits and a CRC-32 that lets scanners and people detect a mistyped one. */
export function mintSecret(): string {
  const random = base62(BigInt(`0x${randomBytes(randomBytesCount).toString("hex")}`), randomDigits);
  return prefix + random + secretChecksum(random);
}

/** Whether a secret starts like one of ours, but does not have its checksum. */
export function isMistyped(secret: string): boolean {
  if (!secret.startsWith(prefix)) return false;
  const random = secret.slice(prefix.length, prefix.length + randomDigits);
  return !mintedShape.test(secret) || !secret.endsWith(secretChecksum(random));
}

/** What is stored of a secret. A plain hash is enough, since 256 random bits cannot be guessed. */
export function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

function secretChecksum(random: string): string {
  return base62(BigInt(crc32(random)), checksumDigits);
}

function base62(value: bigint, digits: number): string {
  let text = "";
  for (let rest = value; rest > 0n; rest /= 62n) text = alphabet.charAt(Number(rest % 62n)) + text;
  return text.padStart(digits, "0");
}
