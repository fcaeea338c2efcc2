import { Database } from "bun:sqlite";
import { BlockSummaries } from "../../src/storage/sqlite/blocks/block-summaries.ts";
import { openForWriting } from "../../src/storage/sqlite/opening/open-for-writing.ts";

const genera =
  "Acer Aloe Begonia Calathea Camellia Clematis Dahlia Dracaena Echeveria Ficus Geranium Helianthus Hosta Hydrangea Iris Lavandula Magnolia Monstera Nephrolepis Paeonia Philodendron Quercus Rosa Salvia Sansevieria Tulipa Viola Wisteria".split(
    " ",
  );
const species =
  "alba alpina arborea aurea canadensis deliciosa elastica exaltata grandiflora japonica macrophylla officinalis orientalis palmata robusta sempervirens sinensis sylvestris tricolor vulgaris".split(
    " ",
  );
const tags = "perennial indoor shrub tree herb climber succulent bulb fern annual orchid moss".split(" ");
const creators = ["greenhouse", "nursery", "field-team", "catalogue"];
const withoutTagEvery = 11;
// Coprime to 2^63, so multiples are spread over the range and never repeat.
const idStep = 6_364_136_223_846_793_005n;

/** Creates a data file without plants, as the first start does, and closes it. */
export function createEmptyStore(file: string): void {
  openForWriting(file)[Symbol.dispose]();
}

/** Creates a data file with plausible plants, written directly, at a rate that varies over time: a day in 2023 by default. */
export function seedStore(
  file: string,
  {
    plants,
    fromMs = Date.UTC(2023, 10, 14),
    untilMs = Date.UTC(2023, 10, 15),
  }: { plants: number; fromMs?: number; untilMs?: number },
): void {
  createEmptyStore(file);
  using database = new Database(file, { safeIntegers: true });
  const insert = database.prepare(
    "INSERT INTO plants (seq, id, name, tag, created_at_ms, created_by) VALUES (?, ?, ?, ?, ?, ?)",
  );
  database.transaction(() => {
    for (let seq = 1; seq <= plants; seq++) {
      const pick = hashOf(seq);
      const name = `${genera[pick % genera.length]} ${species[(pick >>> 8) % species.length]}`;
      const creator = creators[(pick >>> 20) % creators.length] ?? "";
      const createdAtMs = Math.round(fromMs + (untilMs - fromMs) * varying(seq / plants));
      insert.run(seq, idOf(seq), name, tagOf(seq, pick), createdAtMs, creator);
    }
    new BlockSummaries(database).summariseIfFull(0);
  })();
}

export function idOf(seq: number): bigint {
  return BigInt.asUintN(63, BigInt(seq) * idStep);
}

/** Changes a name, where SQLite's integrity check finds nothing wrong. */
export function changePlant(path: string): void {
  using file = new Database(path);
  file.run("UPDATE plants SET name = upper(name) WHERE seq = 5");
}

/** A product of two random numbers makes some tags far more common than others. */
function tagOf(seq: number, pick: number): string | null {
  if (seq % withoutTagEvery === 0) return null;
  const share = ((pick & 0xff) / 256) * (((pick >>> 16) & 0xff) / 256);
  return tags[Math.floor(share * tags.length)] ?? null;
}

/** Grows from 0 to 1 at a varying rate. */
function varying(part: number): number {
  const wave = (at: number) => Math.sin(at * 19) / 45 + (Math.sin(at * 57) * Math.sin(at * 5)) / 260;
  return part - wave(part) + wave(1) * part;
}

function hashOf(seq: number): number {
  let hash = Math.imul(seq, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
