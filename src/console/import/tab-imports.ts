import type { OperatorApi } from "../api.ts";
import { Observable } from "../observable.ts";
import { ImportRun } from "./import-run.ts";

/** The import of this tab and the check of a chosen file. Both continue on any page. */
export class TabImports extends Observable {
  /** The import that was started last. It can be resumed in the next session. */
  last: ImportRun | undefined;
  /** The check of the chosen file. An import that was stopped before it stays in `last`, to be resumed. */
  check: ImportRun | undefined;

  /** Whether rows are being sent, so that whoever leaves should be asked first. */
  get isImporting(): boolean {
    return this.last?.state === "running";
  }

  startImport(file: File, api: OperatorApi, rowBytesMax: number): void {
    this.last = this.#start(file, api, rowBytesMax);
    this.endCheck();
  }

  startCheck(file: File, rowBytesMax: number): void {
    this.check?.stop();
    this.check = this.#start(file, undefined, rowBytesMax);
    this.notify();
  }

  endCheck(): void {
    this.check?.stop();
    this.check = undefined;
    this.notify();
  }

  stop(): void {
    this.last?.stop();
    this.check?.stop();
  }

  /** Keeps only an import that is running, to be stopped and resumed. */
  forget(): void {
    if (!this.isImporting) this.last = undefined;
    this.endCheck();
  }

  #start(file: File, api: OperatorApi | undefined, rowBytesMax: number): ImportRun {
    const run = new ImportRun(file, api, rowBytesMax);
    run.subscribe(() => this.notify());
    return run;
  }
}
