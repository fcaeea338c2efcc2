/**
 * Calls the work once for each argument, and returns its first result again. For what takes long to arrange and what several
 * tests only look at: whichever of them runs first arranges it.
 */
export function memoize<Result, Argument = void>(
  work: (argument: Argument) => Promise<Result>,
): (argument: Argument) => Promise<Result> {
  const results = new Map<Argument, Promise<Result>>();
  return (argument) => {
    const known = results.get(argument);
    if (known !== undefined) return known;
    const result = work(argument);
    results.set(argument, result);
    return result;
  };
}
