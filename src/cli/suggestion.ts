// The shortest text that is taken for an abbreviation, such as `--data` for `--database`.
const prefixLengthMin = 3;
const lettersPerTypo = 3;

/** A question for the end of a message; empty if nobody knows what was meant. */
export function didYouMean(meant: string | undefined): string {
  return meant === undefined ? "" : ` Did you mean ${meant}?`;
}

/** The word that was probably meant by a mistyped one; undefined if none is near. */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  const typosMax = typed.length < 2 * lettersPerTypo ? 1 : 2;
  return words.find(
    (word) => isNear(typed, word, typosMax) || (typed.length >= prefixLengthMin && word.startsWith(typed)),
  );
}

/** Whether so many typos make one text of the other: a letter that is missing, added or changed, or two that are swapped. */
function isNear(typed: string, word: string, typos: number): boolean {
  if (typed === word) return true;
  if (typos === 0) return false;
  let same = 0;
  while (typed[same] === word[same]) same++;
  const isSwapped = typed[same] === word[same + 1] && typed[same + 1] === word[same];
  const endsFrom = (typedStart: number, wordStart: number) =>
    isNear(typed.slice(same + typedStart), word.slice(same + wordStart), typos - 1);
  return endsFrom(1, 0) || endsFrom(0, 1) || endsFrom(1, 1) || (isSwapped && endsFrom(2, 2));
}
