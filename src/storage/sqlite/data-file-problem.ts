/** A data file that cannot be used, in one sentence for the operator. */
export class DataFileProblem extends Error {
  override readonly name = "DataFileProblem";
}
