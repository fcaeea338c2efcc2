export function didYouMean(typed: string, words: readonly string[], prefix = ""): string {
  const meant = nearest(typed, words);
  return meant === undefined ? "" : `; did you mean ${prefix}${meant}?`;
}

/** The word that was probably meant; undefined if none is close. */
function nearest(typed: string, words: readonly string[]): string | undefined {
  // A third of the letters: two in a word of six.
  const distanceMax = Math.max(1, Math.floor(typed.length / 3));
  const ranked = words
    .map((word) => ({ word, distance: editDistance(typed.toLowerCase(), word) }))
    .sort((one, other) => one.distance - other.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= distanceMax ? best.word : undefined;
}

/** How many letters must be inserted, removed, replaced or swapped with the next one. */
function editDistance(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[other.length] ?? 0;
}
