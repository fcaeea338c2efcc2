// The shortest text that is taken for an abbreviation, such as `--data` for `--database`.
const prefixLengthMin = 3;

/** A question for the end of a message; empty if nobody knows what was meant. */
export function didYouMean(meant: string | undefined): string {
  return meant === undefined ? "" : ` Did you mean ${meant}?`;
}

/** The word that was probably meant by a mistyped one; undefined if none is near. */
export function nearestWord(typed: string, words: Iterable<string>): string | undefined {
  const typosMax = Math.max(1, Math.floor(typed.length / 3));
  let nearest: string | undefined;
  let fewest = typosMax + 1;
  for (const word of words) {
    const isAbbreviated = typed.length >= prefixLengthMin && word.startsWith(typed);
    const typos = isAbbreviated ? 1 : typosBetween(typed, word);
    if (typos < fewest && typos < word.length) {
      nearest = word;
      fewest = typos;
    }
  }
  return nearest;
}

/** How many typos make one text of the other: a letter that is missing, added or changed, or two that are swapped. */
function typosBetween(one: string, other: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const changed = at(previous, column - 1) + (isSame ? 0 : 1);
      const swapped = isSwapped ? at(beforePrevious, column - 2) + 1 : Number.POSITIVE_INFINITY;
      current.push(Math.min(at(previous, column) + 1, at(current, column - 1) + 1, changed, swapped));
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, other.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
