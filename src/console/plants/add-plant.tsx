import { useRef, useState } from "preact/hooks";
import { ApiError, wordsOf } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Link } from "../parts/link.tsx";
import { useSurroundings } from "../session.ts";
import { newPlantBody, randomId } from "./new-plant-body.ts";

type FieldName = "id" | "name" | "tag";
type Problems = Partial<Record<FieldName | "form", string | undefined>>;

interface Stored {
  /** Undefined where it was written in a way that no address has, such as 1e3. */
  readonly id: string | undefined;
  readonly name: string;
  readonly replayed: boolean;
}

const lacksScope = 40301;
const idTaken = 40020;
const wholeNumber = /^-?\d+$/;

/** A new plant, sent through the public contract, so that what holds there holds here. */
export function AddPlant({ onClose }: { readonly onClose: () => void }) {
  const { api } = useSurroundings();
  const [plant, setPlant] = useState({ id: "", name: "", tag: "" });
  const [problems, setProblems] = useState<Problems>({});
  const [stored, setStored] = useState<Stored>();
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);

  const send = async (): Promise<void> => {
    setBusy(true);
    setStored(undefined);
    try {
      const id = plant.id.trim();
      const body = newPlantBody(id, plant.name, plant.tag === "" ? undefined : plant.tag);
      const headers = { "Content-Type": "application/json" };
      const response = await api.fetch("/plants", { method: "POST", headers, body });
      const replayed = response.headers.get("Idempotent-Replayed") === "true";
      const known = wholeNumber.test(id) ? String(BigInt(id)) : undefined;
      setStored({ id: known, name: plant.name, replayed });
      setProblems({});
      setPlant({ id: "", name: "", tag: plant.tag });
      form.current?.querySelector("input")?.focus();
    } catch (reason) {
      const found = problemsIn(reason);
      setProblems(found);
      const first = (["id", "name", "tag"] as const).find((name) => found[name] !== undefined);
      if (first !== undefined) form.current?.querySelector<HTMLInputElement>(`[name=${first}]`)?.focus();
    } finally {
      setBusy(false);
    }
  };
  const field = (name: FieldName) => ({
    name,
    value: plant[name],
    problem: problems[name],
    autocomplete: "off",
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => {
      setPlant({ ...plant, [name]: event.currentTarget.value });
      setProblems({ ...problems, [name]: undefined });
    },
  });
  return (
    <Dialog title="Add a plant" onClose={onClose}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <Field
          {...field("id")}
          label="Id"
          inputMode="numeric"
          hint="A whole number of your choice, from −2⁶³ to 2⁶³−1. It is kept exactly."
          beside={
            <button
              type="button"
              class="quiet"
              onClick={() => {
                setPlant({ ...plant, id: randomId() });
                setProblems({ ...problems, id: undefined });
              }}
            >
              Suggest
            </button>
          }
        />
        <Field {...field("name")} label="Name" />
        <Field {...field("tag")} label="Tag" optional hint="What kind of plant it is, such as “indoor”." />
        {problems.form !== undefined && (
          <p class="problem" role="alert">
            {problems.form}
          </p>
        )}
        <Outcome stored={stored} onClose={onClose} />
        <footer class="dialog-foot">
          <button type="button" class="quiet" onClick={onClose}>
            Close
          </button>
          <button type="submit" class="primary" disabled={busy}>
            Add the plant
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function Outcome({ stored, onClose }: { readonly stored: Stored | undefined; readonly onClose: () => void }) {
  return (
    <div role="status">
      {stored !== undefined && (
        <p class="success">
          {stored.replayed
            ? "This very plant was stored before; nothing was changed. "
            : "The plant is on disk. "}
          {/* The click closes the dialog as well; the link itself leads to the plant. */}
          {stored.id !== undefined && (
            <span onClickCapture={onClose}>
              <Link href={`/plants/${stored.id}`}>Show {stored.name || "it"}</Link>
            </span>
          )}
        </p>
      )}
    </div>
  );
}

/** Puts each sentence of the service's message at the field that it names. */
function problemsIn(reason: unknown): Problems {
  if (!(reason instanceof ApiError)) return { form: wordsOf(reason) };
  if (reason.error === lacksScope) {
    return { form: "Your token lacks the scope “plants:create”, so it may look but not add." };
  }
  const problems: Problems = {};
  let place: keyof Problems = reason.error === idTaken ? "id" : "form";
  for (const sentence of reason.message.split(/(?<=\.) (?=[A-Z])/)) {
    // A sentence that names no field belongs to the one before it.
    place = (/^Field "(id|name|tag)"/.exec(sentence)?.[1] as FieldName | undefined) ?? place;
    problems[place] = [problems[place], sentence].filter(Boolean).join(" ");
  }
  return problems;
}
